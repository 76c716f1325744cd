//! How the agent runtime scales: idle runs, runs at once, viewers, and one very long run (limits in docs/testing.md).

mod figures;
mod idle;
mod many;
mod rows;
mod size;
mod soak;
mod viewers;
mod watched;

pub use self::rows::run;
pub use self::size::{Row, Size};
