//! The command-line channel: a transport between a terminal and the core, and how a run's steps look in one.
//!
//! Not here: parsing arguments and composing the core (`ars`, the app). Implements bot supplement section 28.
#![forbid(unsafe_code)]

mod channel;
mod steps;
mod style;

pub use channel::{CliChannel, Outcome};
pub use steps::Steps;
pub use style::Style;
