//! `ars friction <verb>`: why runs were slow.

mod analyze;
mod command;
mod render;

pub use command::run;
