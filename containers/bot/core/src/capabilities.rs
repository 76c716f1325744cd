//! An installation's optional capabilities. A run works without any of them.

use std::sync::Arc;

use ars_auth::TokenMap;
use ars_bot_ports::{Channels, CodeHost, Documents, Skills, Web};
use ars_types::Generation;

use crate::{commands::CommandDeps, live::LiveStores, memory::MemoryDeps, overrides::Overrides};

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
