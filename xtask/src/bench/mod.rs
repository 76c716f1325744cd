//! `cargo xtask bench`: the cost of a turn of the agent loop, how the runtime scales, and how the Workers compare.

mod aims;
mod bot;
mod command;
mod compare;
mod edge;
mod list;
mod model;
mod process;
mod report;
mod scale;
mod state;
mod turns;

pub use self::command::{What, run, smoke};
