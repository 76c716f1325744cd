//! The bot's side of a session: a sandbox that starts the commands of a tree one after the other.
//!
//! It is started beside the first call of the model, or by the first command, and ends when it is dropped (`lend`).
//! A command has it from its start until all that it left is killed (`command`). One beside another command has a
//! sandbox of its own, and so have all where no session can be had. Not here: the program inside (`crate::sandbox`), and
//! how long a session lasts.

mod captured;
mod command;
mod lend;
mod live;

pub(crate) use command::Exit;
pub(crate) use lend::{Lent, Session, SessionSettings};
