//! Run queries: list, get, events, friction and stop, for every surface that shows runs.
//!
//! A run is looked up in this process's registry, then among every process's live rows in the
//! ledger, then in the history. A live row hides the run's provisional record. See
//! docs/reference/runs.md#listing. Not here: how an answer looks.

mod changes;
mod diff;
mod entry;
mod events;
mod filter;
mod fleet;
mod friction;
mod get;
mod get_entry;
mod limits;
mod list;
mod list_entries;
mod own;
mod reader;
mod repeat;
mod restore;
mod stop;
mod summary;
mod view;

pub use crate::error::{OutcomeError, QueryError};
pub use changes::{Change, Changes};
pub use diff::TreeDiff;
pub use entry::{RunDetail, RunEntry};
pub use events::{EventStream, RemoteEvents};
pub use filter::RunFilter;
pub use fleet::{Fleet, FleetChanges};
pub use friction::Friction;
pub use get::Found;
pub use limits::RunLimits;
pub use list::{Page, Selection};
pub use list_entries::{PageRequest, RunPage};
pub use own::OwnRun;
pub use reader::{Queries, Reader};
pub use repeat::Outcome;
pub use restore::RestoreError;
pub use summary::RunSummary;
pub use view::RunView;
