//! The container's environment: what of the Worker's secrets and variables the bot is given at its start (resident
//! supplement 13, bot supplement 27).
//!
//! An allow-list: what is neither named here nor begins as the operator's own secrets do stays at the edge. Not here: what
//! the bot makes of them.

use sha2::{Digest as _, Sha256};

/// The port on which the bot listens inside of its container.
pub const PORT: u16 = 8080;

/// What the operator sets as a secret (`wrangler secret put`), in this order. The root wrangler.toml lists the same names.
pub const SECRETS: [&str; 8] = [
    "MEMORY_TOKEN",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "BRAVE_SEARCH_API_KEY",
    "DASHBOARD_TOKEN",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "SERVICE_INGRESS_TOKENS",
];
/// What stands in the Worker's configuration: no secrets.
pub const VARIABLES: [&str; 7] = [
    "PUBLIC_BASE_URL",
    "STATE_WORKER_URL",
    "ANTHROPIC_BASE_URL",
    "OPENAI_BASE_URL",
    "SERVICE_CONFIG",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "RUST_LOG",
];

/// What the names of the operator's own secrets begin with: those that the configuration chooses (`api_key_env`,
/// `token_env`; bot supplement 27, "others by `apiKeyEnv`").
pub const OWN_SECRETS: &str = "ARS_SECRET_";

/// Bytes of a digest in [`version`].
const DIGEST_BYTES: usize = 4;

/// Every name that is known here.
pub fn names() -> impl Iterator<Item = &'static str> {
    SECRETS.into_iter().chain(VARIABLES)
}

/// Whether the bot is given what has this name.
fn is_forwarded(name: &str) -> bool {
    let is_own = |rest: &str| {
        !rest.is_empty() && rest.bytes().all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_'))
    };
    names().any(|known| known == name) || name.strip_prefix(OWN_SECRETS).is_some_and(is_own)
}

/// The environment of a container that starts now: what is set of `texts`, by their names, and the port.
pub fn of<'t>(texts: impl IntoIterator<Item = (&'t str, &'t str)>) -> Vec<(&'t str, String)> {
    let set = texts.into_iter().filter(|(name, value)| is_forwarded(name) && !value.trim().is_empty());
    set.map(|(name, value)| (name, value.to_owned())).chain([("PORT", PORT.to_string())]).collect()
}

/// The version of what a container is started with: what it was built from, and which tokens it knows.
///
/// The bot decides by the map of its start who may restart it, so a restart could never bring it a first `deploy:write`,
/// and a token that was taken away would be good until one. Another map is therefore another version, which replaces the
/// bot as a deployment does. Any other secret waits for the next start (resident supplement 13: computed at start).
///
/// The digest is cut so short that it tells of a change and not of a token: this is kept, and a secret is not.
pub fn version(build: &str, tokens: Option<&str>) -> String {
    let Some(tokens) = tokens.filter(|tokens| !tokens.trim().is_empty()) else { return build.to_owned() };
    let digest = Sha256::digest(tokens.as_bytes());
    let digits: String = digest.iter().take(DIGEST_BYTES).map(|byte| format!("{byte:02x}")).collect();
    format!("{build}+{digits}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_named_and_set_is_forwarded() {
        let environment = of([
            ("MEMORY_TOKEN", "m"),
            ("BRAVE_SEARCH_API_KEY", " "),
            ("OPENAI_API_KEY", ""),
            ("PUBLIC_BASE_URL", "https://bot.example.com"),
            ("OTHER_SECRET", "x"),
            ("DEV_BOT_URL", "y"),
        ]);
        let expected =
            [("MEMORY_TOKEN", "m"), ("PUBLIC_BASE_URL", "https://bot.example.com"), ("PORT", "8080")];
        assert_eq!(environment, expected.map(|(name, value)| (name, value.to_owned())));
    }

    #[test]
    fn an_operators_own_secret_is_forwarded_by_what_its_name_begins_with() {
        let own = [("ARS_SECRET_LOCAL_KEY", "k"), ("ARS_SECRET_2", "l"), ("ARS_SECRET_", "m")];
        let others =
            [("ARS_SECRET_local", "n"), ("XARS_SECRET_LOCAL", "o"), ("ARS_DATA_DIR", "p"), ("PATH", "q")];
        let forwarded: Vec<_> = of(own.into_iter().chain(others)).into_iter().map(|(name, _)| name).collect();
        assert_eq!(forwarded, ["ARS_SECRET_LOCAL_KEY", "ARS_SECRET_2", "PORT"]);
    }

    #[test]
    fn another_build_or_another_map_of_tokens_is_another_version_and_no_token_is_told_by_it() {
        let map = r#"{"a-token":{"subject":"ann"}}"#;
        let version_of = |tokens| version("c0ffee", tokens);
        assert_eq!(version_of(Some(map)), version_of(Some(map)));
        let versions =
            [version_of(Some(map)), version_of(Some("{}")), version_of(None), version("bad", None)];
        for (at, version) in versions.iter().enumerate() {
            assert!(!versions[..at].contains(version), "{versions:?}");
            assert!(version.len() <= "c0ffee+".len() + 2 * DIGEST_BYTES, "{versions:?}");
        }
        assert_eq!([version_of(Some(" ")), version_of(Some(""))], ["c0ffee", "c0ffee"]);
    }

    #[test]
    fn a_name_is_listed_once() {
        let mut names: Vec<_> = names().collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
