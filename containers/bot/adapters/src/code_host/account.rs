//! The adapter: HTTP client and own account.

use std::sync::Arc;

use ars_bot_ports::{Clock, CodeHostError, Randomness};
use ars_codehost::Host;
use tokio::sync::OnceCell;

use super::{client::Client, credentials::Credentials, pause::Pause, transport::Transport, wire};

/// Suffix on an app account's login.
pub(super) const BOT: &str = "[bot]";

/// Parts that make up the adapter.
pub struct GitHubSettings {
    /// The code host to call.
    pub host: Host,
    /// The service's credential on the host.
    pub credentials: Credentials,
    /// Clock that tells the time.
    pub clock: Arc<dyn Clock>,
    /// Waits between attempts.
    pub pause: Arc<dyn Pause>,
    /// Randomness for these waits.
    pub randomness: Randomness,
}

/// GitHub, or an enterprise's own.
pub struct GitHub {
    pub(super) client: Client,
    /// The own account's full login.
    login: OnceCell<String>,
}

impl GitHub {
    /// Makes the adapter. No request is sent yet.
    ///
    /// # Errors
    /// Returns the HTTP client's error.
    pub fn new(settings: GitHubSettings) -> Result<Self, reqwest::Error> {
        let GitHubSettings {
            host,
            credentials,
            clock,
            pause,
            randomness,
        } = settings;
        let transport = Transport::new(host, credentials, clock, pause, randomness)?;
        Ok(Self {
            client: Client { transport },
            login: OnceCell::new(),
        })
    }

    /// Returns the own account's full login, which is unique.
    pub(super) async fn login(&self) -> Result<&str, CodeHostError> {
        let login = self.login.get_or_try_init(|| async {
            Ok(match self.client.transport.credentials {
                Credentials::App { .. } => {
                    let app: wire::App = self.client.get("/app").await?;
                    format!("{}{BOT}", app.slug)
                }
                Credentials::Token(_) => self.client.get::<wire::User>("/user").await?.login,
            })
        });
        login.await.map(String::as_str)
    }

    /// Returns whether this is the service's account.
    pub(super) fn is_own(login: &str, user: Option<&wire::User>) -> bool {
        user.is_some_and(|user| user.login.eq_ignore_ascii_case(login))
    }
}
