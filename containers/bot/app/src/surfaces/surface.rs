//! What the composition asks of a surface (docs/guide/adding-a-surface.md).

use std::sync::Arc;

use ars_auth::{ParsedTokens, Secret};
use ars_bot_core::Core;
use ars_bot_http::Routes;
use ars_bot_ports::{Channel, CodeHost, Documents};
use ars_wire::{health::ChatStatus, ledger::LiveRun};
use async_trait::async_trait;

use crate::{commands::Failure, config::File, finding::Finding, services::Supervisor};

/// Where a surface reads its settings and secrets.
#[derive(Clone, Copy)]
pub struct Sources<'s> {
    /// The configuration file.
    pub file: &'s File,
    /// The ingress tokens.
    pub tokens: &'s ParsedTokens,
    /// Reads a variable of the environment.
    pub variable: &'s dyn Fn(&str) -> Option<String>,
}

/// The opened parts that surfaces use.
#[derive(Clone)]
pub struct Connected {
    /// The code host, if configured.
    pub code_host: Option<Arc<dyn CodeHost>>,
    /// The store for small documents.
    pub documents: Arc<dyn Documents>,
    /// Base URL for the run pages.
    pub pages: Option<String>,
}

/// A group of entry points with their settings, read before anything is opened.
#[async_trait]
pub trait Surface: Send + Sync {
    /// Returns each secret with its variable. No output may contain one.
    fn secrets(&self) -> Vec<(&'static str, Secret)> {
        Vec::new()
    }

    /// Returns the routes. They exist even where the surface is off, and say so.
    fn routes(&self, connected: &Connected) -> Routes;

    /// Reopens the channel of a run from an ended process, if the run came from here.
    fn reopen(&self, _run: &LiveRun, _connected: &Connected) -> Option<Arc<dyn Channel>> {
        None
    }

    /// Opens the parts that routes, channels and services share. Called once, before them.
    ///
    /// # Errors
    /// A part cannot be opened.
    fn open(&self, _connected: &Connected) -> Result<(), Failure> {
        Ok(())
    }

    /// Starts services that run until the process ends.
    fn start(&self, _core: &Core, _supervisor: &mut Supervisor) {}

    /// Begins the drain: accepts nothing more from an own socket, and informs those who wait.
    fn drain(&self) {}

    /// Returns the chat state for the health probe.
    fn chat_status(&self) -> Option<ChatStatus> {
        None
    }

    /// Logs what is accepted, when the server starts.
    fn report(&self, _connected: &Connected) {}

    /// Checks the settings, for `ars doctor`.
    async fn check(&self) -> Vec<Finding> {
        Vec::new()
    }
}
