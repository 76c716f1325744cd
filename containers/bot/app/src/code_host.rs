//! The code host from the environment: an app's key, or a plain token.
//!
//! Not here: the permissions that the app needs (docs/guide/github.md).

use std::sync::Arc;

use ars_auth::Secret;
use ars_bot_adapters::code_host::{AppKey, Credentials, GitHub, GitHubSettings, TokioPause};
use ars_bot_ports::{CodeHost, Randomness};
use ars_codehost::Host;

use crate::{clock::SystemClock, environment::name};

/// The configured code host.
pub struct CodeHostConfig {
    host: Host,
    identity: Identity,
}

/// The service's identity on the host.
enum Identity {
    App {
        app_id: String,
        installation: u64,
        private_key: Secret,
    },
    Token(Secret),
}

/// Why the variables cannot be used. No variant has a value.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCodeHost {
    /// Some app variables are set, and this variable is not.
    #[error("{0} is not set, and a GitHub App needs all of its variables")]
    Missing(&'static str),
    /// The installation is no number.
    #[error(
        "{} must be the number in the address of the installation",
        name::GITHUB_APP_INSTALLATION_ID
    )]
    Installation,
    /// The key cannot sign.
    #[error(
        "{}: the private key must be an RSA key in PEM",
        name::GITHUB_APP_PRIVATE_KEY
    )]
    Key,
    /// The address is no base address.
    #[error(
        "{} must be https:// and a host, without a path",
        name::GITHUB_BASE_URL
    )]
    BaseUrl,
    /// Webhooks are on without a code host.
    #[error(
        "{} needs a code host: set the variables of a GitHub App",
        name::GITHUB_WEBHOOK_SECRET
    )]
    Webhook,
    /// The HTTP client cannot be made.
    #[error("the HTTP client of the code host cannot be made")]
    Client,
}

impl CodeHostConfig {
    /// Reads the variables. `None` if no code host is configured.
    ///
    /// # Errors
    /// Returns which variable is missing or invalid.
    pub fn read(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, InvalidCodeHost> {
        let app_id = variable(name::GITHUB_APP_ID);
        let installation = variable(name::GITHUB_APP_INSTALLATION_ID);
        let private_key = Secret::parse(variable(name::GITHUB_APP_PRIVATE_KEY));
        let has_webhooks = Secret::parse(variable(name::GITHUB_WEBHOOK_SECRET)).is_some();
        let identity = match (
            app_id,
            installation,
            private_key,
            Secret::parse(variable(name::GH_TOKEN)),
        ) {
            (None, None, None, None) if has_webhooks => {
                return Err(InvalidCodeHost::Webhook);
            }
            (None, None, None, None) => return Ok(None),
            (None, None, None, Some(token)) => Identity::Token(token),
            (Some(app_id), Some(installation), Some(private_key), _) => {
                AppKey::parse(&private_key).map_err(|_| InvalidCodeHost::Key)?;
                let installation = installation
                    .trim()
                    .parse()
                    .map_err(|_| InvalidCodeHost::Installation)?;
                Identity::App {
                    app_id: app_id.trim().to_owned(),
                    installation,
                    private_key,
                }
            }
            (None, ..) => return Err(InvalidCodeHost::Missing(name::GITHUB_APP_ID)),
            (_, None, ..) => {
                return Err(InvalidCodeHost::Missing(name::GITHUB_APP_INSTALLATION_ID));
            }
            (_, _, None, _) => return Err(InvalidCodeHost::Missing(name::GITHUB_APP_PRIVATE_KEY)),
        };
        let host = match variable(name::GITHUB_BASE_URL) {
            Some(base) => Host::parse(base.trim()).ok_or(InvalidCodeHost::BaseUrl)?,
            None => Host::default(),
        };
        Ok(Some(Self { host, identity }))
    }

    /// Returns the secret, which no output may contain.
    pub fn secret(&self) -> &Secret {
        match &self.identity {
            Identity::App { private_key, .. } => private_key,
            Identity::Token(token) => token,
        }
    }

    /// Makes the adapter. Needs the runtime.
    ///
    /// # Errors
    /// Returns why the client cannot be made.
    pub fn open(&self) -> Result<Arc<dyn CodeHost>, InvalidCodeHost> {
        let credentials = match &self.identity {
            Identity::Token(token) => Credentials::Token(token.clone()),
            Identity::App {
                app_id,
                installation,
                private_key,
            } => Credentials::App {
                app_id: app_id.clone(),
                installation: *installation,
                key: Box::new(AppKey::parse(private_key).map_err(|_| InvalidCodeHost::Key)?),
            },
        };
        let settings = GitHubSettings {
            host: self.host.clone(),
            credentials,
            clock: Arc::new(SystemClock),
            pause: Arc::new(TokioPause),
            randomness: Randomness::default(),
        };
        Ok(Arc::new(
            GitHub::new(settings).map_err(|_| InvalidCodeHost::Client)?,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(pairs: &[(&str, &str)]) -> Option<InvalidCodeHost> {
        let value = |name: &str| {
            pairs
                .iter()
                .find(|pair| pair.0 == name)
                .map(|pair| pair.1.to_owned())
        };
        CodeHostConfig::read(value).err()
    }

    #[test]
    fn incomplete_app_names_the_missing_variable() {
        let (id, installation, key) = (
            ("GITHUB_APP_ID", "1"),
            ("GITHUB_APP_INSTALLATION_ID", "2"),
            ("GITHUB_APP_PRIVATE_KEY", "x"),
        );
        for (pairs, expected) in [
            (vec![], None),
            (vec![("GH_TOKEN", "t")], None),
            (
                vec![id],
                Some(InvalidCodeHost::Missing("GITHUB_APP_INSTALLATION_ID")),
            ),
            (
                vec![id, installation, ("GH_TOKEN", "t")],
                Some(InvalidCodeHost::Missing("GITHUB_APP_PRIVATE_KEY")),
            ),
            (
                vec![("GITHUB_WEBHOOK_SECRET", "s")],
                Some(InvalidCodeHost::Webhook),
            ),
            (
                vec![("GITHUB_WEBHOOK_SECRET", "s"), ("GH_TOKEN", "t")],
                None,
            ),
            (vec![key], Some(InvalidCodeHost::Missing("GITHUB_APP_ID"))),
            (vec![id, installation, key], Some(InvalidCodeHost::Key)),
            (
                vec![("GH_TOKEN", "t"), ("GITHUB_BASE_URL", "ghe.example")],
                Some(InvalidCodeHost::BaseUrl),
            ),
        ] {
            assert_eq!(fault(&pairs), expected, "{pairs:?}");
        }
    }
}
