//! Sends requests: with their credential, bounded, and again after passing faults.
//!
//! A request with effects is sent again only if the host answered that it did not perform it.
//! Redirects are returned as responses, because a renamed repository passes the gate under the new
//! name first.

use std::{sync::Arc, time::Duration};

use ars_auth::Secret;
use ars_bot_ports::{Clock, CodeHostError, Randomness};
use ars_codehost::{
    Host,
    answer::{Attempts, Meaning, Retry, retry},
    app::InstallationToken,
    parse_slug,
};
use bytes::Bytes;
use http::{Method, header};
use reqwest::{Client, redirect::Policy};

use super::{
    answer::Answer,
    call::{Access, GRAPHQL, HostCall, Limit, MAX_HOST_ANSWER_BYTES, has_dot_part},
    credentials::Credentials,
    pause::Pause,
    tokens::{Minted, Tokens, mint_body},
};

/// Timeout for a single attempt of a request to the code host, including the body.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout for connecting to the code host, and for a request by the app itself, such as a mint.
const MINT_TIMEOUT: Duration = Duration::from_secs(10);
/// Media type that the API uses.
pub(super) const JSON: &str = "application/vnd.github+json";
/// API version sent with each request.
const API_VERSION: &str = "2022-11-28";

/// Sends all requests to the host.
pub(super) struct Transport {
    pub(super) host: Host,
    pub(super) credentials: Credentials,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) pause: Arc<dyn Pause>,
    pub(super) randomness: Randomness,
    client: Client,
    tokens: Tokens,
}

/// The credential that an attempt presents.
struct Presented {
    secret: Secret,
    /// The credential was minted, so a fresh token can replace it.
    is_minted: bool,
}

impl Transport {
    /// Makes the client, which uses the environment's proxy.
    pub(super) fn new(
        host: Host,
        credentials: Credentials,
        clock: Arc<dyn Clock>,
        pause: Arc<dyn Pause>,
        randomness: Randomness,
    ) -> Result<Self, reqwest::Error> {
        let client = Client::builder()
            .connect_timeout(MINT_TIMEOUT)
            .timeout(ATTEMPT_TIMEOUT)
            .redirect(Policy::none())
            .user_agent(concat!("ars/", env!("CARGO_PKG_VERSION")))
            .build()?;
        Ok(Self {
            host,
            credentials,
            clock,
            pause,
            randomness,
            client,
            tokens: Tokens::default(),
        })
    }

    /// Sends a request until it succeeds, or fails permanently.
    pub(super) async fn execute(&self, call: &HostCall) -> Result<Answer, CodeHostError> {
        if has_dot_part(&call.target) && call.access != Access::Anonymous {
            return Err(CodeHostError::Answer(Meaning::NotFound));
        }
        let mut attempts = Attempts::default();
        loop {
            attempts.sent += 1;
            let presented = self.presented(call).await?;
            let (meaning, error) = match self.attempt(call, presented.as_ref()).await {
                Ok(answer) => match answer.meaning(call, self.clock.now()) {
                    Meaning::Success => return Ok(answer),
                    meaning => (meaning.clone(), CodeHostError::Answer(meaning)),
                },
                Err(CodeHostError::Unreachable) => {
                    (Meaning::Unavailable, CodeHostError::Unreachable)
                }
                Err(error) => return Err(error),
            };
            let is_open = meaning == Meaning::Unavailable && !call.is_repeatable;
            match retry(&meaning, attempts, self.jitter()) {
                Retry::After(wait) if !is_open => {
                    let wait = u64::try_from(wait).unwrap_or_default();
                    self.pause.wait(Duration::from_millis(wait)).await;
                }
                Retry::WithFreshToken if presented.as_ref().is_some_and(|one| one.is_minted) => {
                    attempts.has_fresh_token = true;
                }
                Retry::No | Retry::After(_) | Retry::WithFreshToken => return Err(error),
            }
            if let Some(Presented { secret, .. }) =
                presented.filter(|_| meaning == Meaning::BadCredentials)
            {
                self.tokens.reject(&call.access, &secret);
            }
        }
    }

    /// Returns a token for git or a call, minting a new token if none is cached.
    pub(super) async fn token(&self, access: &Access) -> Result<InstallationToken, CodeHostError> {
        let now = self.clock.now();
        if let Some(token) = self.tokens.get(access, now) {
            return Ok(token);
        }
        let Credentials::App { installation, .. } = &self.credentials else {
            return Err(CodeHostError::NeedsApp);
        };
        let mint = HostCall {
            method: Method::POST,
            target: format!("/app/installations/{installation}/access_tokens"),
            accept: JSON,
            body: mint_body(access).to_string().into(),
            access: Access::App,
            limit: Limit::Whole(MAX_HOST_ANSWER_BYTES),
            // Another token has no effect on the first.
            is_repeatable: true,
        };
        let answer = Box::pin(self.execute(&mint)).await?;
        let minted: Minted =
            serde_json::from_slice(&answer.body).map_err(|_| CodeHostError::Unreadable)?;
        let token = minted_token(access, minted)?;
        self.tokens.put(access, token.clone());
        Ok(token)
    }

    /// Drops a token that the host rejected.
    pub(super) fn reject(&self, access: &Access, rejected: &Secret) {
        self.tokens.reject(access, rejected);
    }

    async fn presented(&self, call: &HostCall) -> Result<Option<Presented>, CodeHostError> {
        match (&call.access, &self.credentials) {
            (Access::Anonymous, _) => Ok(None),
            (Access::App, Credentials::App { app_id, key, .. }) => {
                let secret = key
                    .token(app_id, self.clock.now())
                    .ok_or(CodeHostError::Key)?;
                Ok(Some(Presented {
                    secret,
                    is_minted: false,
                }))
            }
            (Access::App, Credentials::Token(_)) => Err(CodeHostError::NeedsApp),
            (_, Credentials::Token(token)) => Ok(Some(Presented {
                secret: token.clone(),
                is_minted: false,
            })),
            (access, Credentials::App { .. }) => {
                let token = self.token(access).await?;
                Ok(Some(Presented {
                    secret: token.secret,
                    is_minted: true,
                }))
            }
        }
    }

    async fn attempt(
        &self,
        call: &HostCall,
        presented: Option<&Presented>,
    ) -> Result<Answer, CodeHostError> {
        let url = match &call.access {
            Access::Anonymous => call.target.clone(),
            _ if call.target == GRAPHQL => self.host.graphql_url(),
            _ => format!("{}{}", self.host.api_base(), call.target),
        };
        let mut request = self
            .client
            .request(call.method.clone(), url)
            .header(header::ACCEPT, call.accept);
        if let Some(Presented { secret, .. }) = presented {
            request = request
                .bearer_auth(secret.expose())
                .header("x-github-api-version", API_VERSION);
        }
        if call.access == Access::App {
            request = request.timeout(MINT_TIMEOUT);
        }
        if !call.body.is_empty() {
            request = request
                .header(header::CONTENT_TYPE, "application/json")
                .body(Bytes::clone(&call.body));
        }
        let response = request
            .send()
            .await
            .map_err(|error| match error.is_builder() {
                true => CodeHostError::Unreadable,
                false => CodeHostError::Unreachable,
            })?;
        Answer::read(response, call.limit).await
    }

    fn jitter(&self) -> u16 {
        self.randomness
            .bytes::<2>()
            .map_or(0, |bytes| u16::from_be_bytes(bytes) % 1_000)
    }
}

/// Returns the minted token, which must be for the requested repository.
fn minted_token(access: &Access, minted: Minted) -> Result<InstallationToken, CodeHostError> {
    if let Access::Repository(slug, _) = access {
        // The mint names a repository without the owner, so another owner's would pass unnoticed.
        let is_for = |one: &str| parse_slug(one).as_ref() == Some(slug);
        if minted.repositories.is_empty()
            || minted
                .repositories
                .iter()
                .any(|one| !is_for(&one.full_name))
        {
            return Err(CodeHostError::Answer(Meaning::OutsideInstallation));
        }
    }
    let secret = Secret::parse(Some(minted.token)).ok_or(CodeHostError::Unreadable)?;
    let expires_at: jiff::Timestamp = minted
        .expires_at
        .parse()
        .map_err(|_| CodeHostError::Unreadable)?;
    Ok(InstallationToken {
        secret,
        expires_at: expires_at.as_millisecond(),
    })
}
