//! The policy table: which actor may do what to which resource (bot supplement section 7.2).
//!
//! One of the rows of an action and a resource has to hold, with every condition of it, and what no row speaks of is
//! denied. The table is data; [`decide()`] asks it about one resource, [`listing()`] turns the same rows into the
//! predicate of a list, so that a list never shows what a read would refuse. Not here: what configuration grants
//! (`grants.rs`) and closes (`gates.rs`), and the audit line.

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
pub use table::{GROUPS, ROWS, Row, TableFault, check};
pub use visibility::stamp;
