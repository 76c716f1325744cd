//! `friction.*`

mod analysis;
mod analyze;
mod report;
mod text;

pub use analysis::{Analysis, StreamOptions};
pub(super) use analyze::Analyze;
pub(super) use report::Report;
