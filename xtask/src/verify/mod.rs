//! `cargo xtask check` and `cargo xtask test`: the stages, in order.
//!
//! Whatever fails fast comes first, and the test runner last, so that its own closing line is
//! printed last.

mod debian;
mod deployments;
mod passed;
mod platforms;
mod stage;
mod stages;

pub use self::stages::{check, test};
