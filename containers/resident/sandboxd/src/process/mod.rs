//! Step programs: start, streams, end, and forced end.

mod kill;
mod launch;
mod program;
mod rights;
mod run;
mod shared;
mod streams;

pub(crate) use kill::{KILL_TIMEOUT, Killed, kill_in, kill_tagged, kill_user};
pub(crate) use program::{Input, Program, Sharing};
pub use rights::has_landlock;
pub(crate) use run::{EndedProcess, run};
pub(crate) use streams::{Heads, Streams};
