//! What an installation has beside models, workspaces and history (bot supplement section 25). Each may be absent; a
//! run then simply goes without.

use std::sync::Arc;

use ars_bot_ports::{Channels, Skills, Web};
use ars_types::Generation;

use crate::{live::LiveStores, memory::MemoryDeps, overrides::Overrides};

/// The capabilities of an installation.
#[derive(Default)]
pub struct Capabilities {
    /// The live-run ledger; without it a run dies with its process.
    pub ledger: Option<LedgerDeps>,
    /// What was changed of the configuration at run time.
    pub overrides: Option<Overrides>,
    /// What is remembered from run to run.
    pub memory: Option<MemoryDeps>,
    /// The public web.
    pub web: Option<Arc<dyn Web>>,
    /// Skills.
    pub skills: Option<Arc<dyn Skills>>,
}

/// What makes runs outlast their process.
pub struct LedgerDeps {
    /// Where live runs are kept.
    pub stores: LiveStores,
    /// This process's generation.
    pub generation: Generation,
    /// The ways back to requesters whose process is gone.
    pub channels: Arc<dyn Channels>,
    /// Another process follows this one: a drain leaves runs to it instead of waiting for them.
    pub has_successor: bool,
}
