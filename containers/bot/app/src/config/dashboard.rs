//! `[dashboard]`: how viewers of the run pages are authenticated.
//!
//! Modes `none` and `token`. Mode `access` is rejected at the start, because serving it as another mode would open the
//! pages. Not here: the gate itself (`ars-bot-http`).

use ars_auth::Secret;
use ars_bot_http::Dashboard as Gate;
use serde::Deserialize;

use super::ConfigError;

/// The default variable of the secret of mode `token`.
pub const DASHBOARD_TOKEN: &str = "DASHBOARD_TOKEN";
/// The prefix of dashboard actors.
const PLATFORM: &str = "access:";
/// Longest name after the prefix; an actor's id has at most 128 characters.
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
    /// Everyone on this machine.
    None,
    /// Holders of the one secret.
    Token,
    /// Viewers that an access proxy authenticated.
    Access,
}

/// `[dashboard.token]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Token {
    /// The variable that holds the secret.
    pub env: Option<String>,
    /// The actor of the secret's holder, as `access:<name>`.
    pub actor: Option<String>,
}

impl Dashboard {
    /// Returns the gate. `secret` reads a variable.
    pub fn gate(
        &self,
        secret: impl Fn(&str) -> Option<String>,
        is_public: bool,
    ) -> Result<Gate, ConfigError> {
        let invalid = |problem: &str| Err(ConfigError::invalid("dashboard.auth", problem));
        match self.auth {
            // Without a configured mode the pages are for this machine only.
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
            Ok(Gate::Access(_)) => Ok(Some("access".into())),
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
