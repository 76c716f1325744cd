//! Deliveries of Socket Mode, and which of them are requests.
//!
//! Not here: the socket, acknowledgements, and the requests that a stopped process missed (`catch_up`).

mod envelope;
mod message;
mod payload;
mod press;
mod session_stop;
mod trigger;

pub use envelope::Envelope;
pub use message::{Bot, File, FileAccess, Message, Reaction};
pub use payload::{Event, MessageKind};
pub use press::Press;
pub use session_stop::SessionStop;
pub(crate) use trigger::not_from_a_person;
pub use trigger::{Ignored, PARTICIPATION_MAX_REPLIES, Trigger, participates, trigger};
