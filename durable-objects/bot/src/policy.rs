//! The bot's container: its version, environment and timeouts.

use ars_container::lifecycle::Limits;
use ars_platform::{BUILD, ContainerPolicy, text_binding, text_bindings};
use ars_proxy::environment;
use worker::Env;

/// The variable that names the image where it is not the image of this build: on a developer's machine.
const IMAGE: &str = "BOT_IMAGE";
/// The tokens of the ingress. They are part of the version: the bot reads them at its start only.
pub const TOKENS: &str = "SERVICE_INGRESS_TOKENS";

/// Timeout of a start.
const START_LIMIT_MS: i64 = 120_000;
/// Timeout of a drain: the bot's own deadline.
const DRAIN_LIMIT_MS: i64 = 900_000;

/// The policy of the bot's container, from the Worker's bindings.
pub struct BotPolicy(pub Env);

impl ContainerPolicy for BotPolicy {
    const PORT: u16 = environment::PORT;
    const PROBE_PATH: &'static str = "/healthz";
    const LIMITS: Limits =
        Limits { start_ms: START_LIMIT_MS, drain_ms: DRAIN_LIMIT_MS, grace_ms: 15_000, stable_ms: 300_000 };

    fn version(&self) -> String {
        let image = text_binding(&self.0, IMAGE);
        environment::version(image.as_deref().unwrap_or(BUILD), text_binding(&self.0, TOKENS).as_deref())
    }

    fn environment(&self) -> Vec<(String, String)> {
        let texts = text_bindings(&self.0);
        let forwarded = environment::of(texts.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        forwarded.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}
