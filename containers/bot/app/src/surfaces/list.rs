//! The one list of surfaces. The composition only loops over it.

use std::sync::Arc;

use ars_auth::Secret;
use ars_bot_core::Core;
use ars_bot_http::Routes;
use ars_bot_ports::{Channel, Channels, NobodyListens};
use ars_types::{Platform, ReplyPath};
use ars_wire::{health::ChatStatus, ledger::LiveRun};

use super::{
    Connected, Sources, Surface, github::Github, ingress::Ingress, mcp::Mcp, slack::Slack,
};
use crate::{commands::Failure, error::ConfigError, finding::Finding, services::Supervisor};

/// Reads a surface's settings.
type Read = fn(Sources<'_>) -> Result<Box<dyn Surface>, ConfigError>;

/// Every surface. A new one is a line here.
const SURFACES: [Read; 4] = [Ingress::read, Mcp::read, Github::read, Slack::read];

/// Reads the settings of all surfaces.
///
/// # Errors
/// The first invalid setting.
pub fn read(sources: Sources<'_>) -> Result<Surfaces, ConfigError> {
    let surfaces: Result<_, _> = SURFACES.iter().map(|read| read(sources)).collect();
    surfaces.map(Surfaces)
}

/// The surfaces of an installation. Cheap to clone.
#[derive(Clone)]
pub struct Surfaces(Arc<[Box<dyn Surface>]>);

impl Surfaces {
    /// Returns each secret with its variable.
    pub fn secrets(&self) -> Vec<(&'static str, Secret)> {
        self.0
            .iter()
            .flat_map(|surface| surface.secrets())
            .collect()
    }

    /// Returns the routes.
    pub fn routes(&self, connected: &Connected) -> Vec<Routes> {
        let routes = self.0.iter().map(|surface| surface.routes(connected));
        routes.collect()
    }

    /// Opens the parts that each surface shares.
    ///
    /// # Errors
    /// A part cannot be opened.
    pub fn open(&self, connected: &Connected) -> Result<(), Failure> {
        self.0
            .iter()
            .try_for_each(|surface| surface.open(connected))
    }

    /// Begins the drain of all surfaces.
    pub fn drain(&self) {
        for surface in &*self.0 {
            surface.drain();
        }
    }

    /// Returns a reader of the chat state, for the health probe.
    pub fn chat_probe(&self) -> impl Fn() -> ChatStatus + Send + Sync + use<> {
        let surfaces = self.clone();
        move || {
            let mut surfaces = surfaces.0.iter();
            let status = surfaces.find_map(|surface| surface.chat_status());
            status.unwrap_or_default()
        }
    }

    /// Starts the services.
    pub fn start(&self, core: &Core, supervisor: &mut Supervisor) {
        for surface in &*self.0 {
            surface.start(core, supervisor);
        }
    }

    /// Logs what is accepted.
    pub fn report(&self, connected: &Connected) {
        for surface in &*self.0 {
            surface.report(connected);
        }
    }

    /// Checks the settings, for `ars doctor`.
    pub async fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        for surface in &*self.0 {
            findings.extend(surface.check().await);
        }
        findings
    }

    /// Returns the channels for runs that the ledger records.
    pub fn into_channels(self, connected: Connected) -> RecordedChannels {
        RecordedChannels {
            surfaces: self,
            connected,
        }
    }
}

/// Reply channels for reclaimed runs.
///
/// An HTTP or MCP caller from an ended process reads the run's record; a terminal has ended with
/// the process. A conversation is reopened by its surface.
pub struct RecordedChannels {
    surfaces: Surfaces,
    connected: Connected,
}

impl Channels for RecordedChannels {
    fn reopen(&self, run: &LiveRun) -> Option<Arc<dyn Channel>> {
        let (platform, _) = Platform::split(&run.thread_key)?;
        match platform.reply_path() {
            ReplyPath::None => None,
            ReplyPath::Record => Some(Arc::new(NobodyListens)),
            ReplyPath::Conversation => {
                let mut surfaces = self.surfaces.0.iter();
                surfaces.find_map(|surface| surface.reopen(run, &self.connected))
            }
        }
    }
}
