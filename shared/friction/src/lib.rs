//! The run-friction analyzer: what slowed a run, read off its event stream (document 2 section 2.6, state-worker
//! supplement section 8), and what keeps slowing runs (bot supplement section 7, `friction.report`).
//!
//! Pure and deterministic: no clock, no I/O, and equal events give an equal diagnosis. Time grows with the number
//! of events, sorting by time aside; a test counts the steps. It reads events as JSON because stored streams may
//! hold kinds that this version does not know.
//! Not here: fetching runs and filing issues about patterns, which are the caller's.
#![forbid(unsafe_code)]

pub mod records;

mod analyze;
mod calls;
mod claims;
mod clusters;
mod diagnosis;
mod findings;
mod install;
mod intervals;
mod losses;
mod options;
mod patterns;
mod reading;
mod shape;
mod signature;
mod spans;
mod totals;
mod turns;
mod verdict;
mod work;

pub use analyze::analyze;
pub use diagnosis::{Category, Diagnosis, Finding, Severity, Shape, Total, Totals};
pub use intervals::Interval;
pub use options::{Options, SeqRange};
pub use patterns::{Analyzed, Example, Kind, Pattern, Report, ReportOptions, report};
pub use verdict::duration;
