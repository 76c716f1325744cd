//! Configurations of the bot that several tests start.

/// Every command that needs no state Worker is configured.
/// The holder of the dashboard's secret may invoke each, without a limit of requests.
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
