//! The bot's ports: core traits for the world, their data, and metric and trace names.
//!
//! Adapters implement them, tests script them. Not here: a run's life (`ars-bot-core`) and the
//! tools (`ars-bot-tools`).
#![forbid(unsafe_code)]

mod attachment;
mod certificates;
mod channel;
mod channel_event;
mod channels;
mod clock;
pub mod code_host;
mod documents;
mod error;
mod friction;
mod ledger;
mod memory;
mod message;
pub mod metrics;
mod model;
mod randomness;
mod refusal;
mod residents;
mod run_store;
mod schedules;
mod skills;
mod sources;
pub mod texts;
pub mod trace;
mod transcript;
mod web;
mod workspace;

pub use attachment::{Attachment, AttachmentKind, REFERENCE_MAX_BYTES};
pub use certificates::Certificates;
pub use channel::{Channel, HistoryTurn};
pub use channel_event::{ChannelEvent, Confirmation, TextFile};
pub use channels::{Channels, NobodyListens};
pub use clock::Clock;
pub use code_host::{CodeHost, CodeHostError};
pub use documents::{Document, Documents, Replacement};
pub use error::{
    AttachmentError, ModelError, ModelErrorKind, ReplyError, SourceError, StoreError,
    StoreErrorKind, UnknownProvider, WebError, WorkspaceError,
};
pub use friction::FrictionRecords;
pub use ledger::{Claim, FlushBatch, FlushResponse, Ledger, Owned, Stop};
pub use memory::{Memory, Written};
pub use message::{Choices, IncomingMessage, event_key};
pub use model::{ModelClient, ModelDelta, ModelRequest, Models, RetryCause};
pub use randomness::Randomness;
pub use refusal::{DirectiveFault, LiveRunFacts, Notice, Overload, Refusal, ThreadRefusal};
pub use residents::{Offboarded, OpReply, Residents, ResidentsError};
pub use run_store::{RunStore, Stored};
pub use schedules::Schedules;
pub use skills::{Skill, Skills};
pub use sources::Sources;
pub use transcript::Transcripts;
pub use web::{FetchLimits, FetchScope, Fetched, FetchedBody, Web, WebHit};
pub use workspace::{
    Checkpoint, CommandSandbox, Entry, ExecOutcome, ExecRequest, GitAnswer, GitRequest,
    KEPT_FOLDER, LINE_BYTES, NO_CHECKPOINT, OpenFor, PUSHED_REFS, Placement, PushOutcome,
    ReachedLimit, RefusedHost, Release, Repository, SearchHit, TreeAccess, Workspace,
    WorkspaceProvider, WorkspaceRequest,
};
