//! Abridged reading diffs for finished reviews (docs/reference/code-host.md#reviews).
//!
//! Each run's job fetches the pull request's diff, asks a model once, and appends the result to the
//! stored record. Not here: deciding about a call, and the texts (`ars_codehost::review`).

mod answer;
mod artifact;
mod job;
mod target;

pub(crate) use answer::{
    AbridgeError, AbridgeRequest, answer, automatically, has_reading_diffs, is_offered, state,
};
