//! The bot in a real container, started by the edge, which passes its responses unchanged. If the
//! container ends, the runs are finished or closed, and a second container never runs.
#![expect(
    clippy::unwrap_used,
    reason = "a proof that cannot go on fails with its cause"
)]

mod passing;
mod streams;
mod troubles;
