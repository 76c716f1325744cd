//! The life of one run: start, drive, finish, requeue, abandon, resume.

mod abandon;
mod active;
mod drive;
mod finish;
mod prepare;
mod prompt;
mod queue;
mod requeue;
mod resume;
mod start;

pub(crate) use resume::reclaim_loop;
pub(crate) use start::start;
