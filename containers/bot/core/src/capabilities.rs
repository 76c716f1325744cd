//! The optional capabilities of an installation. A run works without any of them.

use std::sync::Arc;

use ars_auth::TokenMap;
use ars_bot_ports::{Channels, CodeHost, Documents, Skills, Web};
use ars_types::Generation;

use crate::{commands::CommandDeps, live::LiveStores, memory::MemoryDeps, overrides::Overrides};

/// The capabilities of an installation.
#[derive(Default)]
pub struct Capabilities {
    /// The live-run ledger. Without it a run ends with its process.
    pub ledger: Option<LedgerDeps>,
    /// Run-time changes of the configuration.
    pub overrides: Option<Overrides>,
    /// Memory across runs.
    pub memory: Option<MemoryDeps>,
    /// The public web.
    pub web: Option<Arc<dyn Web>>,
    /// The code host. Without it no pull request, review or issue is posted.
    pub code_host: Option<Arc<dyn CodeHost>>,
    /// The documents that keep the claims of posted reviews, firings and filed issues.
    /// Without them the claims are this process's.
    pub claims: Option<Arc<dyn Documents>>,
    /// Skills.
    pub skills: Option<Arc<dyn Skills>>,
    /// Dependencies of commands.
    pub commands: CommandDeps,
    /// The ingress tokens, by which work that another process accepted is authorized again.
    /// Without them such work has the grants of its acceptance.
    pub tokens: Option<Arc<TokenMap>>,
}

/// The dependencies that let runs outlast their process.
pub struct LedgerDeps {
    /// The stores of live runs.
    pub stores: LiveStores,
    /// This process's generation.
    pub generation: Generation,
    /// The channels of requesters of dead processes.
    pub channels: Arc<dyn Channels>,
    /// Another process follows this one, so a drain hands runs off instead of waiting for them.
    pub has_successor: bool,
    /// Whether this process reclaims runs.
    ///
    /// Not where it cannot read the tokens of their senders: they wait for another.
    pub reclaims: bool,
}
