//! A run's life: start, drive, finish, requeue, abandon, resume.

mod abandon;
mod active;
mod commits;
mod continued;
mod drive;
mod finish;
mod host_writes;
mod prepare;
mod prompt;
mod pull_request;
mod queue;
mod requeue;
mod resume;
mod review_post;
mod review_target;
mod start;
mod unread;

pub(crate) use resume::reclaim_loop;
pub(crate) use start::start;
pub(crate) use unread::release;
