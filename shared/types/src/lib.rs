//! Ids, names and statuses that are parsed once and then carry their guarantee.
//!
//! Not here: JSON bodies (`ars-wire`), events (`ars-events`) and anything that does I/O.
//! Implements the patterns of document 1 section 2 and document 2 sections 2.1 and 2.3.
#![forbid(unsafe_code)]

pub mod visible_to;

mod id;
mod model_ref;
mod status;

pub use id::{Generation, InvalidName, RefName, RepoSlug, RunId, StoreKey, ThreadKey};
pub use model_ref::{Effort, ModelRef};
pub use status::{RunStatus, StopMode, Visibility};

/// Integer milliseconds since the Unix epoch. The only form in which time crosses a crate boundary.
pub type UnixMillis = i64;
