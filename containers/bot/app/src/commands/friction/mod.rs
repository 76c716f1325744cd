//! `ars friction <verb>`: why runs were slow.

mod analyze;
mod command;

pub use command::run;
