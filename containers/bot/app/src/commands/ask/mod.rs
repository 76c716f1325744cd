//! `ars ask`: one request, here and now, on the configured stores.

mod command;
mod report;
mod request;
mod thread_lock;
mod watch;

pub use command::run;
