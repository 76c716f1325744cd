//! `cargo xtask bench`: an agent turn's cost, the runtime's scaling, and the Workers compared.

mod aims;
mod bot;
mod command;
mod compare;
mod edge;
mod list;
mod model;
mod overload;
mod plain_user;
mod process;
mod report;
mod residents;
mod scale;
mod serve;
mod state;
mod turns;

pub use self::command::{What, run, smoke};
