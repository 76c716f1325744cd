//! Step operations, each in a file.

mod aside;
mod beside;
mod builds;
mod check;
mod checkpoint;
mod command;
mod credential;
mod debris;
mod deps;
mod files;
mod folders;
mod git_step;
mod hidden;
mod home;
mod inspect;
mod kill;
mod loose;
mod markers;
mod perform;
mod quick;
mod secrets;
mod snapshot;
mod spare;
mod torn;
mod transfer;
mod trash;

pub(crate) use debris::remove_debris;
pub(crate) use perform::perform;
pub(crate) use torn::forget as forget_torn;
