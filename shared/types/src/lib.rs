//! Validated ids, names and statuses, and the platforms' rules.
//!
//! Not here: JSON bodies (`ars-wire`), events (`ars-events`) and I/O.
#![forbid(unsafe_code)]

pub mod visible_to;

mod error;
mod file_limits;
mod id;
mod invisible;
mod model_ref;
mod platform;
mod ref_rules;
mod status;

pub use error::InvalidName;
pub use file_limits::{
    DOCUMENT_MAX_BYTES, IMAGE_MAX_BYTES, MESSAGE_DOCUMENTS_MAX, MESSAGE_IMAGES_MAX,
    THREAD_DOCUMENTS_MAX, THREAD_DOCUMENTS_MAX_BYTES, THREAD_IMAGES_MAX, THREAD_IMAGES_MAX_BYTES,
};
pub use id::{
    CHANNEL_NAME_MAX, ChannelName, Generation, REF_MAX_BYTES, RUN_ID_MAX, RefName, RepoSlug, RunId,
    STRICT_REF_MAX, StoreKey, StrictRefName, THREAD_NAME_MAX, ThreadKey, ThreadName,
};
pub use invisible::is_invisible;
pub use model_ref::{Effort, MODEL_MAX, ModelRef};
pub use platform::{
    ActorClass, CLI_LOCAL, ChannelRules, ChannelTraits, Grantees, Platform, PlatformRules,
    ReplyPath,
};
pub use ref_rules::is_ref_name;
pub use status::{Cgroup, RunStatus, SandboxKind, SandboxNetwork, StopMode, TreePlace, Visibility};

/// Milliseconds since the Unix epoch, the only time representation across crates.
pub type UnixMillis = i64;
