//! What the core needs of the world, as traits. Adapters implement them; tests script them.

mod channel;
mod clock;
mod model;
mod run_store;
mod workspace;

pub use channel::{ChannelIo, HistoryTurn, ReplyError};
pub use clock::Clock;
pub use model::{ModelClient, ModelDelta, ModelError, ModelErrorKind, ModelRequest, Models, UnknownProvider};
pub use run_store::{RunStore, StoreError, StoreErrorKind, Stored};
pub use workspace::{
    Entry, ExecOutcome, ExecRequest, Repository, SearchHit, Workspace, WorkspaceError, WorkspaceProvider,
    WorkspaceRequest,
};
