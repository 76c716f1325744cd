//! The run-friction analyzer (docs/reference/friction.md).
//!
//! It diagnoses slow runs from their events, and finds patterns over many diagnoses. Pure and
//! deterministic: no clock, no I/O, and equal events give an equal diagnosis. Time is linear in the
//! number of events, except for sorting by time; a test counts the steps. Events are read as JSON,
//! because stored streams may contain kinds that this version does not know. Not here: fetching
//! runs, and filing issues about patterns.
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
pub use options::{AnalysisOptions, SeqRange};
pub use patterns::{Analyzed, Example, Kind, Pattern, Report, ReportOptions, report};
pub use verdict::duration;
