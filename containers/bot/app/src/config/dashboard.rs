//! `[dashboard]` (document 1 section 5, bot supplement section 8): how viewers of the run pages are told apart.
//!
//! Modes `none` and `token`. Not here: the gate itself (`ars-bot-http`), and mode `access`, which is refused at the
//! start rather than served as another.

use ars_auth::Secret;
use ars_bot_http::Dashboard as Gate;
use serde::Deserialize;

use super::ConfigError;

/// Names the secret of mode `token`, unless the configuration names another variable.
pub const DASHBOARD_TOKEN: &str = "DASHBOARD_TOKEN";
/// What an actor of the dashboard begins with.
const PLATFORM: &str = "access:";
/// Longest name after it (document 1 section 6: what an actor's id may be).
const NAME_LIMIT: usize = 128 - PLATFORM.len();

/// `[dashboard]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Dashboard {
    /// The mode; `none` when absent.
    pub auth: Option<Mode>,
    /// Of mode `token`.
    pub token: Token,
}

/// `dashboard.auth`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Whoever is at this machine.
    None,
    /// Whoever shows the one secret.
    Token,
    /// Whoever an access proxy let through.
    Access,
}

/// `[dashboard.token]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Token {
    /// The variable that holds the secret.
    pub env: Option<String>,
    /// Who shows it, as `access:<name>`.
    pub actor: Option<String>,
}

impl Dashboard {
    /// The gate. `secret` reads a variable.
    pub fn gate(
        &self,
        secret: impl Fn(&str) -> Option<String>,
        is_public: bool,
    ) -> Result<Gate, ConfigError> {
        let invalid = |problem: &str| Err(ConfigError::invalid("dashboard.auth", problem));
        match self.auth {
            // Without a word it starts, and refuses everybody who is not at this machine.
            None => Ok(Gate::Loopback),
            Some(Mode::None) if is_public => {
                invalid("`none` is for one machine, and PUBLIC_BASE_URL names another")
            }
            Some(Mode::None) => Ok(Gate::Loopback),
            Some(Mode::Token) => {
                let variable = self.token.env.as_deref().unwrap_or(DASHBOARD_TOKEN);
                let Some(secret) = Secret::parse(secret(variable)) else {
                    return invalid(&format!("`token` needs a secret in {variable}"));
                };
                Ok(Gate::Token { secret, actor: self.actor()? })
            }
            Some(Mode::Access) => invalid("`access` is not served yet: use `token` or `none`"),
        }
    }

    fn actor(&self) -> Result<String, ConfigError> {
        let invalid = |problem: &str| Err(ConfigError::invalid("dashboard.token.actor", problem));
        let Some(actor) = &self.token.actor else { return invalid("mode `token` needs an actor") };
        let is_plain = |name: &str| {
            (1..=NAME_LIMIT).contains(&name.len())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || ":@._-".contains(c))
        };
        match actor.strip_prefix(PLATFORM) {
            Some(name) if is_plain(name) => Ok(actor.clone()),
            _ => invalid("must be access:<name>, of letters, digits and :@._-"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(text: &str, secret: Option<&str>, is_public: bool) -> Result<Option<String>, String> {
        let dashboard: Dashboard = toml::from_str(text).unwrap();
        let read = |name: &str| secret.filter(|_| name == DASHBOARD_TOKEN).map(str::to_owned);
        match dashboard.gate(read, is_public) {
            Ok(Gate::Loopback) => Ok(None),
            Ok(Gate::Token { actor, .. }) => Ok(Some(actor)),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn a_mode_starts_only_with_all_it_needs() {
        let token = "auth = \"token\"\n[token]\nactor = \"access:ops\"";
        assert_eq!(gate("", None, true), Ok(None));
        assert_eq!(gate("auth = \"none\"", None, false), Ok(None));
        assert_eq!(gate(token, Some("s"), true), Ok(Some("access:ops".into())));
        for (text, secret, word) in [
            ("auth = \"none\"", None, "PUBLIC_BASE_URL"),
            ("auth = \"access\"", None, "access"),
            (token, None, DASHBOARD_TOKEN),
            ("auth = \"token\"", Some("s"), "dashboard.token.actor"),
            ("auth = \"token\"\n[token]\nactor = \"http:ops\"", Some("s"), "dashboard.token.actor"),
            ("auth = \"token\"\n[token]\nactor = \"access:\"", Some("s"), "dashboard.token.actor"),
            ("auth = \"token\"\n[token]\nactor = \"access:a b\"", Some("s"), "dashboard.token.actor"),
            ("auth = \"token\"\n[token]\nenv = \"OTHER\"\nactor = \"access:a\"", Some("s"), "OTHER"),
        ] {
            let problem = gate(text, secret, true).unwrap_err();
            assert!(problem.contains(word), "{text}: {problem}");
        }
    }
}
