//! Settings for webhooks.

use std::{collections::BTreeMap, sync::Arc};

use ars_auth::{Actor, Grants, Secret};
use ars_bot_ports::{CodeHost, Documents};
use ars_codehost::webhook::CHECKS_USER;
use ars_types::Platform;

use super::{attempts::AttemptStore, deliveries::Deliveries};

/// Webhook settings and parts.
pub struct Webhooks {
    /// The secret that signs them.
    pub secret: Secret,
    /// Actor ids by host login in lower case. Others have no effect.
    pub users: BTreeMap<String, String>,
    /// Actor id for failed checks.
    pub checks: Option<String>,
    /// The code host to answer on.
    pub host: Arc<dyn CodeHost>,
    /// The store for deliveries that were served.
    pub documents: Arc<dyn Documents>,
}

/// Webhooks, with their deliveries.
pub(crate) struct WebhookState {
    pub(super) settings: Webhooks,
    pub(super) deliveries: Arc<Deliveries>,
    pub(super) attempts: AttemptStore,
}

impl WebhookState {
    pub(crate) fn new(settings: Webhooks) -> Self {
        let deliveries = Arc::new(Deliveries::new(Arc::clone(&settings.documents)));
        let attempts = AttemptStore::new(Arc::clone(&settings.documents));
        Self {
            settings,
            deliveries,
            attempts,
        }
    }

    /// Returns the actor for an event's user, such as `github:ann`. The grants come from the
    /// configuration.
    pub(super) fn actor(&self, user: &str) -> Option<Actor> {
        let Webhooks { users, checks, .. } = &self.settings;
        let id = match user {
            CHECKS_USER => checks.as_ref(),
            user => match Platform::split(user)? {
                (Platform::CodeHost, login) => users.get(login),
                _ => None,
            },
        };
        Some(Actor::new(id?.clone(), Grants::default()))
    }
}
