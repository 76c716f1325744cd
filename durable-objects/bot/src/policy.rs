//! The bot container's version, environment and timeouts.

use ars_container::lifecycle::Limits;
use ars_platform::{
    BUILD, ContainerPolicy, Storage, random_bytes, store_text, stored_text, text_binding,
    text_bindings,
};
use ars_proxy::environment;
use ars_wire::admin::EDGE_SECRET;
use worker::{Env, console_error};

/// The variable that names the image where it is not this build's image: on a developer's machine.
const IMAGE: &str = "BOT_IMAGE";
/// The ingress tokens. They are part of the version: the bot reads them when it starts only.
pub const TOKENS: &str = "SERVICE_INGRESS_TOKENS";

/// Timeout for a start in milliseconds.
const START_LIMIT_MS: i64 = 120_000;
/// Timeout for a drain: the bot's own deadline.
const DRAIN_LIMIT_MS: i64 = 900_000;

/// The storage key for the secret that the object shares with the container.
const SECRET_KEY: &str = "edge-secret";
/// Random bytes in this secret.
const SECRET_BYTES: usize = 32;

/// The bot container's policy, from the Worker's bindings and the object's storage.
pub struct BotPolicy {
    /// The Worker's bindings.
    pub env: Env,
    /// The object's storage.
    pub storage: Storage,
}

/// Returns the secret by which the bot knows the edge.
///
/// It is made once and stored, because the object may be evicted while the container runs. Without
/// storage there is none, and the bot then authorizes no restart.
pub fn edge_secret(storage: &Storage) -> Option<String> {
    stored_text(storage, SECRET_KEY).or_else(|| {
        let secret = hex::encode(random_bytes::<SECRET_BYTES>());
        match store_text(storage, SECRET_KEY, &secret) {
            Ok(()) => Some(secret),
            Err(error) => {
                console_error!("fault: the edge's secret was not stored: {error}");
                None
            }
        }
    })
}

impl ContainerPolicy for BotPolicy {
    const PORT: u16 = environment::PORT;
    const PROBE_PATH: &'static str = "/healthz";
    const LIMITS: Limits = Limits {
        start_ms: START_LIMIT_MS,
        drain_ms: DRAIN_LIMIT_MS,
        grace_ms: 15_000,
        stable_ms: 300_000,
    };

    fn version(&self) -> String {
        let image = text_binding(&self.env, IMAGE);
        environment::version(
            image.as_deref().unwrap_or(BUILD),
            text_binding(&self.env, TOKENS).as_deref(),
        )
    }

    fn environment(&self) -> Vec<(String, String)> {
        let texts = text_bindings(&self.env);
        let forwarded = environment::for_container(
            texts
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str())),
        );
        let own = edge_secret(&self.storage).map(|secret| (EDGE_SECRET, secret));
        forwarded
            .into_iter()
            .chain(own)
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }
}
