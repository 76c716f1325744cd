//! The command-line channel: a transport between a terminal and the core, and how it displays a
//! run.
//!
//! Not here: parsing arguments (`crate::args`) and composing the core (`crate::compose`).

mod changes;
mod channel;
mod output;
mod steps;
mod style;

pub use changes::Changes;
pub use channel::{CliChannel, Outcome};
pub use output::{print, tell};
pub use steps::Steps;
pub use style::Style;
