//! Bot configurations that several tests start.

/// Every command that needs no state Worker is configured. Whoever holds the dashboard's secret may
/// invoke each, without a request limit.
pub const OPERATOR_CONFIG: &str = r#"
organization = "acme"
[limits]
requestsPerMinute = 0
[dashboard]
auth = "token"
token = { actor = "access:ops" }
[grants."access:ops"]
actions = "all"
channels = "all"
repos = "all"
[memory]
enabled = true
"#;
