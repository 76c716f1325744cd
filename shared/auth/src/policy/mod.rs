//! The policy table: permitted actions by actor and resource.
//!
//! An action is permitted if all conditions in any row hold. Actions without a row are denied. The
//! table is data:
//! [`decide()`] evaluates it for a single resource, and [`listing()`] compiles the same rows into a
//! list predicate, so that a list never contains a run that a read would deny. Not here: configured
//! grants (`grants.rs`) and restrictions (`gates.rs`), and the audit line.

mod condition;
mod decide;
mod listing;
mod resource;
mod table;
mod visibility;

pub use condition::Condition;
pub use decide::decide;
pub use listing::{Listing, MAX_IDS, listing};
pub use resource::{Resource, ResourceKind};
pub use table::{GROUPS, ROWS, Row, check};
pub use visibility::stamp;
