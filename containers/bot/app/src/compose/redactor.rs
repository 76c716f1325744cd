//! The redactor of a plan: every secret that configuration and environment contain.

use ars_auth::Secret;
use ars_bot_adapters::logins::secrets_of;
use ars_bot_http::Dashboard;
use ars_events::Redactor;

use super::Plan;
use crate::{code_host::CodeHostConfig, environment};

impl Plan {
    /// Returns a redactor of every configured secret.
    pub(super) fn redactor(&self) -> Redactor {
        let dashboard_token = match &self.dashboard {
            Dashboard::Token { secret, .. } => Some(secret),
            Dashboard::Loopback | Dashboard::Access(_) => None,
        };
        let own = [
            self.edge_secret.as_ref(),
            self.store_token.as_ref(),
            self.memory_token.as_ref(),
            self.schedules_token.as_ref(),
            self.search_key.as_ref(),
            dashboard_token,
        ];
        let residents = self.residents.secrets();
        let surfaces = self.surfaces.secrets();
        let providers = self.providers.values();
        let secrets = providers
            .filter_map(|provider| provider.api_key.as_ref())
            .chain(surfaces.iter().map(|(_, secret)| secret))
            .chain(own.into_iter().flatten())
            .chain(self.code_host.as_ref().map(CodeHostConfig::secret))
            .chain(&residents)
            .map(|secret: &Secret| secret.expose().to_owned());
        let repositories = self.settings.repositories.iter();
        let origins = repositories
            .map(|repository| &repository.origin)
            .chain(&self.settings.allowed_origins)
            .flat_map(|origin| secrets_of(origin));
        let telemetry = ars_bot_telemetry::secrets(environment::variable);
        Redactor::new(secrets.chain(telemetry).chain(origins))
    }
}
