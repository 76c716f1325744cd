//! The surface, from the table and the tokens.

use std::sync::{Arc, OnceLock};

use ars_auth::Secret;
use ars_bot_core::Core;
use ars_bot_http::Routes;
use ars_bot_ports::Channel;
use ars_bot_slack::{SlackChannel, SlackService, SlackSettings, Workspace, api::ApiBase};
use ars_wire::{health::ChatStatus, ledger::LiveRun};
use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::{SlackTable, check};
use crate::{
    commands::Failure,
    environment::name,
    error::ConfigError,
    finding::Finding,
    services::{Service, Supervisor},
    surfaces::{Connected, Sources, Surface},
};

/// Slack, on or off.
pub struct Slack {
    table: SlackTable,
    settings: Option<SlackSettings>,
    workspace: OnceLock<Workspace>,
}

impl Slack {
    /// Reads the table and the tokens.
    ///
    /// # Errors
    /// An invalid table or address, or only one of the two tokens.
    pub fn read(sources: Sources<'_>) -> Result<Box<dyn Surface>, ConfigError> {
        let table = sources.file.slack.clone();
        let secret = |name| Secret::parse((sources.variable)(name));
        let base = match (sources.variable)(name::SLACK_BASE_URL) {
            Some(text) => ApiBase::parse(&text)
                .map_err(|problem| ConfigError::invalid(name::SLACK_BASE_URL, problem))?,
            None => ApiBase::default(),
        };
        let catch_up = table.window()?;
        let tokens = (secret(name::SLACK_BOT_TOKEN), secret(name::SLACK_APP_TOKEN));
        let settings = match tokens {
            (Some(bot_token), Some(app_token)) => Some(SlackSettings {
                base,
                bot_token,
                app_token,
                catch_up,
                admits: table.admits(),
                pages: None,
            }),
            (None, None) => None,
            (Some(_), None) => return Err(alone(name::SLACK_APP_TOKEN)),
            (None, Some(_)) => return Err(alone(name::SLACK_BOT_TOKEN)),
        };
        Ok(Box::new(Self {
            table,
            settings,
            workspace: OnceLock::new(),
        }))
    }
}

fn alone(missing: &'static str) -> ConfigError {
    ConfigError::invalid(missing, "is missing: Slack needs both tokens, or none")
}

#[async_trait]
impl Surface for Slack {
    fn secrets(&self) -> Vec<(&'static str, Secret)> {
        let tokens = self.settings.iter().flat_map(|settings| {
            [
                (name::SLACK_BOT_TOKEN, settings.bot_token.clone()),
                (name::SLACK_APP_TOKEN, settings.app_token.clone()),
            ]
        });
        tokens.collect()
    }

    /// Slack connects outwards, so there is no route.
    fn routes(&self, _connected: &Connected) -> Routes {
        Routes::none()
    }

    fn open(&self, connected: &Connected) -> Result<(), Failure> {
        let Some(settings) = self.settings.clone() else {
            return Ok(());
        };
        let settings = SlackSettings {
            pages: connected.pages.clone(),
            ..settings
        };
        let workspace = Workspace::new(settings, Arc::clone(&connected.documents))
            .map_err(|error| Failure::Unavailable(error.into()))?;
        // Called once, before everything that uses it.
        let _ = self.workspace.set(workspace);
        Ok(())
    }

    fn reopen(&self, run: &LiveRun, _connected: &Connected) -> Option<Arc<dyn Channel>> {
        let workspace = self.workspace.get()?.clone();
        Some(Arc::new(SlackChannel::reopen(workspace, run)?))
    }

    fn start(&self, core: &Core, supervisor: &mut Supervisor) {
        if let Some(workspace) = self.workspace.get() {
            workspace.attach(core.clone());
            supervisor.start(SocketService(SlackService(workspace.clone())));
        }
    }

    fn drain(&self) {
        if let Some(workspace) = self.workspace.get() {
            workspace.drain();
        }
    }

    fn chat_status(&self) -> Option<ChatStatus> {
        let workspace = self.workspace.get()?;
        Some(workspace.status().borrow().clone())
    }

    fn report(&self, _connected: &Connected) {
        if self.settings.is_some() {
            tracing::info!("chat messages of Slack are accepted");
        }
        if let Some(warning) = self.table.warning() {
            tracing::warn!("{warning}");
        }
    }

    async fn check(&self) -> Vec<Finding> {
        match &self.settings {
            Some(settings) => check::check(settings, self.table.warning()).await,
            None => Vec::new(),
        }
    }
}

/// The socket under the supervisor.
struct SocketService(SlackService);

#[async_trait]
impl Service for SocketService {
    fn name(&self) -> &'static str {
        "slack"
    }

    async fn run(self, stop: CancellationToken) {
        self.0.run(stop).await;
    }
}
