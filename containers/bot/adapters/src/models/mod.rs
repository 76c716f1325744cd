//! Model vendors behind the core's `ModelClient` port, and the catalogue that finds them by name.
//!
//! Not here: the conversation's form (`ars-agent`), choosing a run's model (the core), reading the
//! environment (the composition root passes it in).

mod anthropic;
mod calls;
mod catalog;
mod conversation;
mod environment;
mod failure;
mod listing;
mod openai;
mod rehearsal;
mod retry;
mod transport;

pub use crate::error::{CatalogError, EndpointError, ModelSetupError, ScriptError};
pub use anthropic::Anthropic;
pub use catalog::{Catalog, ProviderConfig, ProviderKind, ScriptSource};
pub use environment::{
    DEFAULT_ANTHROPIC_MODEL, DEFAULT_OPENAI_MODEL, REHEARSAL_MODEL, default_model,
    providers_from_env,
};
pub use listing::listed_models;
pub use openai::OpenAi;
pub use rehearsal::Rehearsal;
pub use retry::RetryPolicy;
pub use transport::{CONNECT_TIMEOUT, Endpoint, IDLE_TIMEOUT, Transport};
