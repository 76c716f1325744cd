//! Webhooks of the code host, from the table and the secret that signs them.
//!
//! Not here: the code host itself (`crate::code_host`).

use std::{collections::BTreeMap, sync::Arc};

use ars_auth::Secret;
use ars_bot_core::Core;
use ars_bot_http::{
    Routes,
    github::{self, CommentChannel, Webhooks},
};
use ars_bot_ports::Channel;
use ars_wire::ledger::LiveRun;

use crate::{
    environment::name,
    error::ConfigError,
    services::{FollowService, Supervisor},
    surfaces::{Connected, Sources, Surface},
};

/// Webhooks, with the actors for logins.
pub struct Github {
    /// The secret, if webhooks are on.
    secret: Option<Secret>,
    users: BTreeMap<String, String>,
    checks: Option<String>,
}

impl Github {
    /// Reads the table and the secret.
    ///
    /// # Errors
    /// An invalid actor.
    pub fn read(sources: Sources<'_>) -> Result<Box<dyn Surface>, ConfigError> {
        let table = &sources.file.webhook;
        Ok(Box::new(Self {
            secret: Secret::parse((sources.variable)(name::GITHUB_WEBHOOK_SECRET)),
            users: table.users()?,
            checks: table.checks.clone(),
        }))
    }

    /// Returns the webhooks, if they are on.
    fn webhooks(&self, connected: &Connected) -> Option<Webhooks> {
        let host = connected.code_host.as_ref()?;
        Some(Webhooks {
            secret: self.secret.clone()?,
            users: self.users.clone(),
            checks: self.checks.clone(),
            host: Arc::clone(host),
            documents: Arc::clone(&connected.documents),
        })
    }
}

impl Surface for Github {
    fn secrets(&self) -> Vec<(&'static str, Secret)> {
        let secret = self.secret.iter().cloned();
        secret
            .map(|secret| (name::GITHUB_WEBHOOK_SECRET, secret))
            .collect()
    }

    fn routes(&self, connected: &Connected) -> Routes {
        github::routes(self.webhooks(connected))
    }

    /// A comment is edited on.
    fn reopen(&self, run: &LiveRun, connected: &Connected) -> Option<Arc<dyn Channel>> {
        let host = Arc::clone(connected.code_host.as_ref()?);
        let pages = connected.pages.clone();
        Some(Arc::new(CommentChannel::reopen(run, host, pages)?))
    }

    fn start(&self, core: &Core, supervisor: &mut Supervisor) {
        supervisor.start_any(FollowService::from_core(core));
    }

    fn report(&self, connected: &Connected) {
        if self.secret.is_some() && connected.code_host.is_some() {
            let users = self.users.len();
            tracing::info!(users, "webhooks of the code host are accepted");
        }
    }
}
