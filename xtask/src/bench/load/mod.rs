//! Load on a server, and what it takes: what the comparisons of Workers (`state`, `edge`) share.
//!
//! Not here: what is asked, and what is told of it.

mod connection;
mod cores;
mod figures;
mod modules;
mod request;
mod slice;

pub use self::connection::{Answer, Connection};
pub use self::cores::{WORKER_CORE, settle};
pub use self::figures::{ms, percentile, ratio};
pub use self::modules::copy_modules;
pub use self::request::{Ask, Source, TOKEN, always};
pub use self::slice::{Measured, Meter, Slice, Until, joined, slice};
