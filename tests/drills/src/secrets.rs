//! Every secret in a machine's configuration, each with a unique value: wherever it shows, it
//! leaked.

/// The state Worker's bearer.
pub const MEMORY: &str = "canary-memory-2b7e151628aed2a6";
/// The ingress token that drills use.
pub const INGRESS: &str = "canary-ingress-abf7158809cf4f3c";
/// An ingress token that users quote in their requests.
pub const QUOTED: &str = "canary-quoted-762e7160f38b4da5";
/// The model vendor's key.
pub const ANTHROPIC: &str = "canary-anthropic-6a784d9045190cfe";
/// Another vendor's API key.
pub const OPENAI: &str = "canary-openai-f4bf8d2d5c3e1a90";
/// Key for an unused service, unless a drill uses it.
pub const LOCAL: &str = "canary-local-91c0a8d7e6b5f423";
/// The web search key.
pub const SEARCH: &str = "canary-search-0d1e2f3a4b5c6d7e";
/// The span collector's bearer.
pub const TELEMETRY: &str = "canary-telemetry-8899aabbccddeeff";
/// The collector's bearer where it takes spans with a separate bearer.
pub const SPANS: &str = "canary-spans-1f83d9abfb41bd6b";
/// Bearer for the run pages.
pub const DASHBOARD: &str = "canary-dashboard-5be0cd19137e2179";
/// Bearer for a Worker for memory only, which some drills use.
pub const OWN_MEMORY: &str = "canary-own-memory-9b05688c2b3e6c1f";
/// Password in a repository's address.
pub const ORIGIN: &str = "canary-origin-3c6ef372fe94f82b";

/// All secrets named here.
pub const ALL: [&str; 12] = [
    MEMORY, INGRESS, QUOTED, ANTHROPIC, OPENAI, LOCAL, SEARCH, TELEMETRY, SPANS, DASHBOARD,
    OWN_MEMORY, ORIGIN,
];

/// The variables that carry them.
pub fn environment() -> Vec<(&'static str, String)> {
    let tokens = format!(r#"{{"{INGRESS}":{{"subject":"ann"}},"{QUOTED}":{{"subject":"bob"}}}}"#);
    vec![
        ("MEMORY_TOKEN", MEMORY.into()),
        ("SERVICE_INGRESS_TOKENS", tokens),
        ("ANTHROPIC_API_KEY", ANTHROPIC.into()),
        ("OPENAI_API_KEY", OPENAI.into()),
        ("LOCAL_KEY", LOCAL.into()),
        ("BRAVE_SEARCH_API_KEY", SEARCH.into()),
        (
            "OTEL_EXPORTER_OTLP_HEADERS",
            format!("authorization=Bearer {TELEMETRY}"),
        ),
        (
            "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
            format!("authorization=Bearer {SPANS}"),
        ),
        ("DASHBOARD_TOKEN", DASHBOARD.into()),
        ("OWN_MEMORY_TOKEN", OWN_MEMORY.into()),
    ]
}

/// The secrets in a text.
pub fn seen_in(text: &str) -> Vec<&'static str> {
    ALL.into_iter()
        .filter(|secret| text.contains(secret))
        .collect()
}
