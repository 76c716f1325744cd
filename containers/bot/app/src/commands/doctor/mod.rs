//! `ars doctor`: checks an installation, and names how to mend each fault.

mod cgroup;
mod checks;
mod command;
mod remote;

pub use command::run;
