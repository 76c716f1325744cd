//! A sandbox that lasts as long as a run: its first program starts each command inside.
//!
//! The bot and this program (`server`) speak over a socket that only the two have (`frames`). A
//! command is started and ends, and everything that it left is killed before the next command
//! starts. Not here: the bot's side (`workspace::session`), and the sandbox rights.

mod frames;
mod options;
mod server;

pub use options::SERVE;
pub use server::serve;

pub(crate) use frames::{Answer, Frame, Wait, kill_message, receive, send_part, start_message};

pub(super) use options::{Options, Signals};
