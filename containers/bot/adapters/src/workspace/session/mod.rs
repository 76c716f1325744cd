//! The bot's side of a session: a sandbox that starts a tree's commands in turn.
//!
//! It is started beside the first model call, or by the first command, and ends when it is dropped
//! (`lend`). A command has it from the start until everything that it left is killed (`command`). A
//! command beside another has a separate sandbox, and so have all commands where no session can be
//! had. Not here: the program inside (`crate::sandbox`), and how long a session lasts.

mod captured;
mod command;
mod lend;
mod live;

pub(crate) use command::Exit;
pub(crate) use lend::{Lent, Session, SessionSettings};
