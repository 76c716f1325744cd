//! How the agent runtime scales: idle, concurrent, watched and very long runs (docs/testing.md).

mod figures;
mod idle;
mod many;
mod rows;
mod sandbox;
mod size;
mod soak;
mod viewers;
mod watched;

pub use self::figures::{mb, percentile, spread};
pub use self::rows::run;
pub use self::size::{Row, Size};
