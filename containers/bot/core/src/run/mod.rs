//! Running an agent: the driver performs what the loop decides.

mod assignment;
mod call_watch;
mod driver;
mod model_calls;
mod spans;
mod telling;
mod tool_calls;
mod toolbox;
mod watched;

pub use assignment::{Assignment, Voice};
pub use driver::{Driven, Driver, First, INTERNAL_ERROR, Outcome, Resumption, not_begun};
pub use spans::{MODEL_TURN, OpenSpan, Span, Spans};
pub use telling::Told;
pub use toolbox::Toolbox;
