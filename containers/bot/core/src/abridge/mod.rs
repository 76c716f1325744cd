//! Abridged reading diffs of finished reviews (docs/reference/code-host.md#reviews).
//!
//! One job per run fetches the diff of the pull request, asks a model once, and appends the result to the stored record.
//! Not here: the decision about a call, and the texts (`ars_codehost::review`).

mod answer;
mod artifact;
mod job;
mod target;

pub(crate) use answer::{
    AbridgeError, AbridgeRequest, answer, automatically, has_reading_diffs, is_offered, state,
};
