//! `cargo xtask bench`: an agent turn's cost, the runtime's scaling, overload, and residents.

mod aims;
mod bot;
mod command;
mod model;
mod overload;
mod plain_user;
mod process;
mod report;
mod residents;
mod scale;
mod serve;
mod turns;

pub use self::command::{What, run, smoke};
