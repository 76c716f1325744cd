//! The container's environment: what of the Worker's secrets and variables the bot is given at its start (resident
//! supplement 13, bot supplement 27).
//!
//! An allow-list: a secret that is not named here stays at the edge. Not here: what the bot makes of them.

/// The port on which the bot listens inside of its container.
pub const PORT: u16 = 8080;

/// What the operator sets as a secret (`wrangler secret put`), and what for. The root wrangler.toml lists the same names.
pub const SECRETS: [&str; 8] = [
    "SERVICE_INGRESS_TOKENS",
    "MEMORY_TOKEN",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "BRAVE_SEARCH_API_KEY",
    "DASHBOARD_TOKEN",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
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

/// Every name that may be forwarded.
pub fn names() -> impl Iterator<Item = &'static str> {
    SECRETS.into_iter().chain(VARIABLES)
}

/// The environment of a container that starts now: what is set of the names, and the port.
pub fn of(value: impl Fn(&str) -> Option<String>) -> Vec<(&'static str, String)> {
    let set = names().filter_map(|name| Some((name, value(name).filter(|value| !value.trim().is_empty())?)));
    set.chain([("PORT", PORT.to_string())]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_named_and_set_is_forwarded() {
        let environment = of(|name| match name {
            "MEMORY_TOKEN" => Some("m".to_owned()),
            "BRAVE_SEARCH_API_KEY" => Some(" ".to_owned()),
            "OPENAI_API_KEY" => Some(String::new()),
            "PUBLIC_BASE_URL" => Some("https://bot.example.com".to_owned()),
            "ANTHROPIC_API_KEY" => None,
            name if names().any(|known| known == name) => None,
            other => Some(format!("{other} was asked for")),
        });
        let expected =
            [("MEMORY_TOKEN", "m"), ("PUBLIC_BASE_URL", "https://bot.example.com"), ("PORT", "8080")];
        assert_eq!(environment, expected.map(|(name, value)| (name, value.to_owned())));
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
