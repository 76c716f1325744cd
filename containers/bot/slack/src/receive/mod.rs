//! From an event to a dispatched request.

mod accept;
mod change;
mod confirm;
mod files;
mod press;
mod serve;

pub(crate) use accept::{accept, show_receipt};
pub(crate) use files::{download, read_again};
pub(crate) use press::press;
pub(crate) use serve::{Address, Arrival, LATE_NOTE, serve, without_notes};
