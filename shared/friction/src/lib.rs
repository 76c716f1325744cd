//! The run-friction analyzer: what slowed a run, read off its event stream (document 2 section 2.6).
//!
//! Pure, deterministic and linear: no clock, no I/O, and equal events give an equal diagnosis. It reads events as
//! JSON because stored streams may hold kinds that this version does not know.
//! Not here: clustering over runs, and the breakdown of a run's window into its `shape`, which is optional in a
//! diagnosis and not computed yet.
#![forbid(unsafe_code)]

mod analyze;
mod diagnosis;
mod install;
mod reading;
mod verdict;

pub use analyze::{Options, analyze};
pub use diagnosis::{Category, Diagnosis, Finding, Interval, Severity, Total, Totals};
