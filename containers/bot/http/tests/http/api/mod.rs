//! The command routes over real connections.

mod commands;
mod openapi;
mod order;
mod parity;
mod property;
mod spelling;
pub mod support;
