//! `cargo xtask bench`: an agent turn's cost, the runtime's scaling, overload, residents, and chat.

mod aims;
mod bot;
mod chat;
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
