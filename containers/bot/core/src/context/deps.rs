//! The core's dependencies. A run works without any of the optional capabilities.

use std::sync::Arc;

use ars_auth::TokenMap;
use ars_bot_ports::{
    Channels, Clock, CodeHost, Documents, Memory, Models, Residents, RunStore, Schedules, Skills,
    Sources, Web, WorkspaceProvider,
};
use ars_events::Redactor;
use ars_memory::reading::Budget;
use ars_types::{Generation, ModelRef};
use ars_wire::health::Build;

use super::{overrides::Overrides, settings::Settings};
use crate::live::LiveStores;

/// The core's dependencies.
pub struct Deps {
    /// Source of the current time.
    pub clock: Arc<dyn Clock>,
    /// Model clients by name.
    pub models: Arc<dyn Models>,
    /// Provides the threads' working trees.
    pub workspaces: Arc<dyn WorkspaceProvider>,
    /// Durable run history.
    pub store: Arc<dyn RunStore>,
    /// The installation's optional capabilities.
    pub capabilities: Capabilities,
    /// Removes secrets from everything a run publishes.
    pub redactor: Arc<Redactor>,
    /// The installation's settings.
    pub settings: Settings,
}

/// An installation's capabilities.
#[derive(Default)]
pub struct Capabilities {
    /// The live-run ledger. Without it a run ends with the process.
    pub ledger: Option<LedgerDeps>,
    /// Run-time configuration changes.
    pub overrides: Option<Overrides>,
    /// Memory shared across runs.
    pub memory: Option<MemoryDeps>,
    /// Access to the public web.
    pub web: Option<Arc<dyn Web>>,
    /// The code host. Without it no pull request, review or issue is posted.
    pub code_host: Option<Arc<dyn CodeHost>>,
    /// Documents that keep the claims of posted reviews, firings and filed issues. Without them,
    /// claims live only in this process.
    pub claims: Option<Arc<dyn Documents>>,
    /// Skills that agents may load.
    pub skills: Option<Arc<dyn Skills>>,
    /// Command dependencies.
    pub commands: CommandDeps,
    /// Ingress tokens that authorize work again when another process accepted it. Without them such
    /// work keeps the grants it was accepted with.
    pub tokens: Option<Arc<TokenMap>>,
}

/// The dependencies that let runs outlast their process.
pub struct LedgerDeps {
    /// Stores for live runs.
    pub stores: LiveStores,
    /// This process's generation.
    pub generation: Generation,
    /// Reopens the requesters' channels of dead processes.
    pub channels: Arc<dyn Channels>,
    /// Another process succeeds this one, so a drain hands runs off instead of waiting for them.
    pub has_successor: bool,
    /// Whether this process reclaims runs.
    ///
    /// It does not where it cannot read their senders' tokens: they wait for another process.
    pub reclaims: bool,
}

/// Command dependencies. A command whose dependency is missing is absent or unavailable.
#[derive(Clone, Default)]
pub struct CommandDeps {
    /// The process build.
    pub build: Option<Build>,
    /// The firing record, where schedules are configured.
    pub schedules: Option<Arc<dyn Schedules>>,
    /// The residents. The repository commands and the residents pages need them.
    pub residents: Option<Arc<dyn Residents>>,
    /// Saved event streams, on the command line.
    pub sources: Option<Arc<dyn Sources>>,
}

/// The configured memory. Absent where memory is off.
pub struct MemoryDeps {
    /// Stores for every memory scope.
    pub store: Arc<dyn Memory>,
    /// The organization, for memory that all share.
    pub organization: Option<String>,
    /// Budget for a run's memory block.
    pub budget: Budget,
    /// The reflecting model, or `None` for the run's own.
    pub model: Option<ModelRef>,
}
