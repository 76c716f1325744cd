//! The routes over the registry and all residents' objects.
//!
//! [`Admitted`] checks a request's head, [`prepare()`] makes every other check that has its HTTP
//! status;
//! [`perform()`] does the work, whose answer a streamed route sends as a single document. Not here:
//! bearers, which the shell compares, and the transport.

mod perform;
mod port;
mod prepare;

pub use perform::{perform, watchdog};
pub use port::{Fleet, Membership};
pub use prepare::{Admitted, Request, Work, prepare};
