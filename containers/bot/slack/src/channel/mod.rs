//! The way back to a thread: history, replies, and the card of the run.

mod replies;
mod thread;

pub(crate) use replies::reply_id;
pub(crate) use thread::Progress;
pub use thread::SlackChannel;
