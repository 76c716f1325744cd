//! What the process does beside requests: firings of schedules, and the ends of pull requests.

mod pull_ends;
mod schedules;

pub use pull_ends::PullRequestFollower;
pub(crate) use pull_ends::record as record_pull_request_end;
pub use schedules::Scheduler;
