//! A sandbox that lasts as long as a run: its first program starts each command inside of it.
//!
//! The bot and this program (`server`) speak over a socket that only the two have (`frames`). A command is started,
//! ends, and is followed by the death of everything that it left, before the next one starts. Not here: the bot's side
//! of a command (`workspace::session`), and the rights of the sandbox.

mod frames;
mod options;
mod server;

pub use options::SERVE;
pub use server::serve;

pub(crate) use frames::{Answer, Frame, Wait, kill_message, receive, send_part, start_message};

pub(super) use options::{Options, Signals};
