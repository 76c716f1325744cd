//! Messages between their delivery and their dispatch: seen before, and not begun yet.

mod changes;
mod decisions;
mod document;
mod joined;
mod pending;
mod seen;

pub(crate) use changes::{Changes, message_key};
pub(crate) use decisions::Decisions;
pub(crate) use joined::Joined;
pub(crate) use pending::{Pending, PendingMessage};
pub(crate) use seen::Seen;
