//! `friction.*`

mod analysis;
mod analyze;
mod propose;
mod report;
mod text;

pub use analysis::{Analysis, StreamOptions};
pub(super) use analyze::Analyze;
pub(super) use propose::Propose;
pub(super) use report::Report;
