//! `ars ask`: a single request, here and now, on the configured stores or on a running service.

mod command;
mod remote;
mod report;
mod request;
mod thread_lock;
mod watch;

pub use command::run;
