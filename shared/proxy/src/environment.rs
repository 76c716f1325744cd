//! The bot container's environment: the Worker's secrets and variables that it receives at start.
//!
//! An allow-list: a name that is neither listed here nor starts with [`OWN_SECRETS`] stays at the
//! edge.

use sha2::{Digest as _, Sha256};

/// The port on which the bot listens inside the container.
pub const PORT: u16 = 8080;

/// The variable that names the header in which the bot trusts the caller's address.
/// The platform sets that header.
pub(crate) const PEER_HEADER: (&str, &str) = ("PEER_HEADER", "cf-connecting-ip");

/// The operator's secrets (`wrangler secret put`). The root wrangler.toml lists the same names in
/// this order.
pub const SECRETS: [&str; 15] = [
    "MEMORY_TOKEN",
    "RESIDENT_OPERATOR_TOKEN",
    "RESIDENT_ADMIN_TOKEN",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "BRAVE_SEARCH_API_KEY",
    "GITHUB_APP_PRIVATE_KEY",
    "GH_TOKEN",
    "GITHUB_WEBHOOK_SECRET",
    "SLACK_BOT_TOKEN",
    "SLACK_APP_TOKEN",
    "DASHBOARD_TOKEN",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "SERVICE_INGRESS_TOKENS",
];
/// Variables in the Worker's configuration.
pub const VARIABLES: [&str; 15] = [
    "PUBLIC_BASE_URL",
    "ACCESS_TEAM_DOMAIN",
    "ACCESS_AUD",
    "STATE_WORKER_URL",
    "ANTHROPIC_BASE_URL",
    "OPENAI_BASE_URL",
    "SERVICE_CONFIG",
    "CONFIG_HOSTS",
    "CONFIG_SANDBOX",
    "GITHUB_APP_ID",
    "GITHUB_APP_INSTALLATION_ID",
    "GITHUB_BASE_URL",
    "SLACK_BASE_URL",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "RUST_LOG",
];

/// Prefix for the secrets that the bot's configuration names, by `api_key_env` and `token_env`.
pub const OWN_SECRETS: &str = "ARS_SECRET_";

/// Digest size in [`version`], in bytes.
const DIGEST_BYTES: usize = 4;

/// Returns every listed name.
pub fn names() -> impl Iterator<Item = &'static str> {
    SECRETS.into_iter().chain(VARIABLES)
}

/// Returns whether the bot receives the variable with this name.
fn is_forwarded(name: &str) -> bool {
    let is_own = |rest: &str| {
        !rest.is_empty()
            && rest
                .bytes()
                .all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_'))
    };
    names().any(|known| known == name) || name.strip_prefix(OWN_SECRETS).is_some_and(is_own)
}

/// Returns a container's environment: the forwarded texts that are not blank, and the edge's own.
pub fn for_container<'t>(
    texts: impl IntoIterator<Item = (&'t str, &'t str)>,
) -> Vec<(&'t str, String)> {
    let set = texts
        .into_iter()
        .filter(|(name, value)| is_forwarded(name) && !value.trim().is_empty());
    let own = [
        ("PORT", PORT.to_string()),
        (PEER_HEADER.0, PEER_HEADER.1.to_owned()),
    ];
    set.map(|(name, value)| (name, value.to_owned()))
        .chain(own)
        .collect()
}

/// Returns the version for a container that starts now: the build, and a digest over the tokens.
///
/// The bot reads the token map only when it starts. Without a new version it would accept a revoked
/// token until the next restart, and a first `deploy:write` would have no effect. Any other secret
/// waits for the next start.
///
/// The digest is short enough to reveal a change and no token: the version is stored, and a secret
/// is not.
pub fn version(build: &str, tokens: Option<&str>) -> String {
    let Some(tokens) = tokens.filter(|tokens| !tokens.trim().is_empty()) else {
        return build.to_owned();
    };
    let digest = Sha256::digest(tokens.as_bytes());
    format!("{build}+{}", hex::encode(&digest[..DIGEST_BYTES]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_named_and_set_is_forwarded() {
        let environment = for_container([
            ("MEMORY_TOKEN", "m"),
            ("BRAVE_SEARCH_API_KEY", " "),
            ("OPENAI_API_KEY", ""),
            ("PUBLIC_BASE_URL", "https://bot.example.com"),
            ("OTHER_SECRET", "x"),
            ("DEV_BOT_URL", "y"),
        ]);
        let expected = [
            ("MEMORY_TOKEN", "m"),
            ("PUBLIC_BASE_URL", "https://bot.example.com"),
            ("PORT", "8080"),
            PEER_HEADER,
        ];
        assert_eq!(
            environment,
            expected.map(|(name, value)| (name, value.to_owned()))
        );
    }

    #[test]
    fn own_secrets_are_forwarded_by_their_prefix() {
        let own = [
            ("ARS_SECRET_LOCAL_KEY", "k"),
            ("ARS_SECRET_2", "l"),
            ("ARS_SECRET_", "m"),
        ];
        let others = [
            ("ARS_SECRET_local", "n"),
            ("XARS_SECRET_LOCAL", "o"),
            ("ARS_DATA_DIR", "p"),
            ("PATH", "q"),
        ];
        let forwarded: Vec<_> = for_container(own.into_iter().chain(others))
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(
            forwarded,
            [
                "ARS_SECRET_LOCAL_KEY",
                "ARS_SECRET_2",
                "PORT",
                "PEER_HEADER"
            ]
        );
    }

    #[test]
    fn build_and_tokens_determine_the_version() {
        let map = r#"{"a-token":{"subject":"ann"}}"#;
        let version_of = |tokens| version("c0ffee", tokens);
        assert_eq!(version_of(Some(map)), version_of(Some(map)));
        let versions = [
            version_of(Some(map)),
            version_of(Some("{}")),
            version_of(None),
            version("bad", None),
        ];
        for (at, version) in versions.iter().enumerate() {
            assert!(!versions[..at].contains(version), "{versions:?}");
            assert!(
                version.len() <= "c0ffee+".len() + 2 * DIGEST_BYTES,
                "{versions:?}"
            );
        }
        assert_eq!(
            [version_of(Some(" ")), version_of(Some(""))],
            ["c0ffee", "c0ffee"]
        );
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
