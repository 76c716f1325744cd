//! The life of one run: start, drive, finish, requeue, abandon, resume.

mod prepare;
mod prompt;
mod start;

pub(crate) use start::start;
