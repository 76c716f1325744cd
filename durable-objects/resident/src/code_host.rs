//! The code host: repository addresses, and tokens for a single repository each.
//!
//! The app's key stays in the Worker. Not here: token permissions
//! (`ars_resident_engine::mint_body`), and how a token reaches git (`ars_resident::daemon`).

use std::cell::RefCell;
use std::collections::BTreeMap;

use ars_auth::Secret;
use ars_codehost::Host;
use ars_codehost::app::{InstallationToken, TokenCache, pkcs8_of_pem, signed_token, signing_input};
use ars_platform::{Outbound, now, parse_time, post_json, sign_rs256, text_binding};
use ars_resident::daemon::{GitCredential, SecretText};
use ars_resident::document::read_bytes;
use ars_resident::names::Resource;
use ars_resident_engine::{Minted, TokenUse, fleet::Membership, mint_body};
use ars_types::RepoSlug;
use serde::Deserialize;
use worker::Env;

/// The variable with the code host's base address. Unset: the public host.
const BASE_URL: &str = "CODE_HOST_URL";
/// The public host's base address.
const PUBLIC_URL: &str = "https://github.com";
/// The variable with the app id.
const APP_ID: &str = "GITHUB_APP_ID";
/// The variable with the app's installation id.
const INSTALLATION: &str = "GITHUB_APP_INSTALLATION_ID";
/// The secret with the app's private key. It is not the bot app's key.
const PRIVATE_KEY: &str = "GITHUB_APP_PRIVATE_KEY";
/// User name for installation tokens.
const TOKEN_USER: &str = "x-access-token";
/// Timeout for a mint in milliseconds.
const MINT_MS: f64 = 10_000.0;
/// Maximum mint response in bytes.
const MINT_MAX_BYTES: usize = 64 << 10;

/// Why no token was minted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Minting {
    /// The installation does not contain the repository.
    Absent,
    /// The host failed or refused, or the app's key is not usable. The text shows no secret.
    Failed(String),
}

impl std::fmt::Display for Minting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Absent => {
                f.write_str("the installation does not contain the repository, or it was renamed")
            }
            Self::Failed(text) => f.write_str(text),
        }
    }
}

/// The app's installation, from the bindings.
struct App {
    id: String,
    installation: String,
    key: Secret,
}

/// A Worker's code host.
pub struct CodeHost {
    base: String,
    app: Option<App>,
    /// A cache per use, so that no use gets another's permissions.
    tokens: RefCell<BTreeMap<TokenUse, TokenCache>>,
}

#[derive(Deserialize)]
struct MintedBody {
    token: String,
    expires_at: String,
    repositories: Vec<MintedRepository>,
}

#[derive(Deserialize)]
struct MintedRepository {
    full_name: String,
}

impl CodeHost {
    /// Reads the Worker's bindings. Unless all three app values are set, repositories are read
    /// without a token.
    pub fn from_env(env: &Env) -> Self {
        let text = |name| text_binding(env, name).filter(|text| !text.is_empty());
        let app = (|| {
            let key = Secret::parse(text(PRIVATE_KEY))?;
            Some(App {
                id: text(APP_ID)?,
                installation: text(INSTALLATION)?,
                key,
            })
        })();
        let base = text(BASE_URL).unwrap_or_else(|| PUBLIC_URL.to_owned());
        Self {
            base: base.trim_end_matches('/').to_owned(),
            app,
            tokens: RefCell::default(),
        }
    }

    /// Returns a repository's address for git.
    pub fn origin(&self, resource: &Resource) -> String {
        format!("{}/{}.git", self.base, resource.slug())
    }

    /// Returns a token for a single repository and use; `None` without an app. `may_be_cached`
    /// permits an earlier token.
    ///
    /// # Errors
    /// No token was minted.
    pub async fn mint(
        &self,
        resource: &Resource,
        usage: TokenUse,
        may_be_cached: bool,
    ) -> Result<Option<Minted>, Minting> {
        let Some(app) = &self.app else {
            return Ok(None);
        };
        let slug = RepoSlug::parse(resource.slug()).map_err(|_| Minting::Absent)?;
        let token = match self.cached(&slug, usage).filter(|_| may_be_cached) {
            Some(token) => token,
            None => {
                let token = self.fresh(app, &slug, usage).await?;
                self.tokens
                    .borrow_mut()
                    .entry(usage)
                    .or_default()
                    .put(slug, token.clone());
                token
            }
        };
        let credential = GitCredential {
            origin: self.base.clone(),
            username: TOKEN_USER.to_owned(),
            password: SecretText::new(token.secret.expose()),
        };
        Ok(Some(Minted {
            credential,
            expires_at: Some(token.expires_at),
        }))
    }

    /// Proves by a mint that the installation contains a repository.
    pub async fn membership(&self, resource: &Resource) -> Membership {
        match self.mint(resource, TokenUse::Fetch, false).await {
            Ok(Some(_)) => Membership::Proven,
            Ok(None) => Membership::Unconfigured,
            Err(Minting::Absent) => Membership::Absent(Minting::Absent.to_string()),
            Err(Minting::Failed(text)) => Membership::Unknown(text),
        }
    }

    fn cached(&self, slug: &RepoSlug, usage: TokenUse) -> Option<InstallationToken> {
        self.tokens.borrow().get(&usage)?.get(slug, now()).cloned()
    }

    async fn fresh(
        &self,
        app: &App,
        slug: &RepoSlug,
        usage: TokenUse,
    ) -> Result<InstallationToken, Minting> {
        let failed = |text: &str| Minting::Failed(text.to_owned());
        let host = Host::parse(&self.base)
            .ok_or_else(|| failed("CODE_HOST_URL is no address of a host"))?;
        let key =
            pkcs8_of_pem(&app.key).ok_or_else(|| failed("the key of the app cannot be read"))?;
        let input = signing_input(&app.id, now());
        let signature = sign_rs256(&key, input.as_bytes()).await;
        let jwt = signed_token(
            &input,
            &signature.map_err(|_| failed("the key of the app cannot sign"))?,
        );
        let url = format!(
            "{}/app/installations/{}/access_tokens",
            host.api_base(),
            app.installation
        );
        let bearer = format!("Bearer {jwt}");
        let headers = [
            ("authorization", bearer.as_str()),
            ("accept", "application/vnd.github+json"),
            ("user-agent", "agent-request-service"),
        ];
        let document = mint_body(slug, usage).to_string();
        let (max_bytes, timeout_ms) = (MINT_MAX_BYTES, MINT_MS);
        let outbound = Outbound {
            url: &url,
            headers: &headers,
            document: &document,
            max_bytes,
            timeout_ms,
        };
        match post_json(outbound).await.map_err(Minting::Failed)? {
            (201, body) => {
                let minted: MintedBody = read_bytes(&body)
                    .map_err(|_| failed("the code host's answer has another shape"))?;
                // The mint names a repository without the owner, so another owner's would pass
                // unnoticed.
                let is_asked =
                    |one: &MintedRepository| one.full_name.eq_ignore_ascii_case(slug.as_str());
                if minted.repositories.is_empty() || !minted.repositories.iter().all(is_asked) {
                    return Err(Minting::Absent);
                }
                token(minted).ok_or_else(|| failed("the code host's answer has another shape"))
            }
            (404 | 422, _) => Err(Minting::Absent),
            (status, _) => Err(Minting::Failed(format!(
                "the code host answered the mint with {status}"
            ))),
        }
    }
}

fn token(minted: MintedBody) -> Option<InstallationToken> {
    let expires_at = parse_time(&minted.expires_at)?;
    Some(InstallationToken {
        secret: Secret::parse(Some(minted.token))?,
        expires_at,
    })
}
