//! `[dashboard]`: how the run pages' viewers are authenticated.
//!
//! A mode with a missing setting is a start error, because serving it as another mode would open
//! the pages. Not here: the gate (`ars-bot-http`).

use std::sync::Arc;

use ars_auth::{
    Secret,
    access::{MAX_ACTOR_CHARS, Proxy},
};
use ars_bot_adapters::web::TeamCertificates;
use ars_bot_http::{Access, Dashboard as Gate};
use ars_types::Platform;
use serde::Deserialize;

use super::ConfigError;
use crate::environment::{self, name};

/// Default variable for mode `token`'s secret.
pub const DASHBOARD_TOKEN: &str = "DASHBOARD_TOKEN";
/// Variable for the access proxy's host name.
pub const ACCESS_TEAM_DOMAIN: &str = "ACCESS_TEAM_DOMAIN";
/// Variable for the audience in the access proxy's tokens.
pub const ACCESS_AUD: &str = "ACCESS_AUD";

/// Settings in the `[dashboard]` table.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Dashboard {
    /// The mode; when absent `access` if both its variables are set, else `none`.
    pub auth: Option<Mode>,
    /// Settings for mode `token`.
    pub token: Token,
}

/// Values for `dashboard.auth`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Everyone on this machine.
    None,
    /// Anyone who holds the shared secret.
    Token,
    /// Viewers that an access proxy authenticated.
    Access,
}

/// Settings in the `[dashboard.token]` table.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Token {
    /// The variable that holds the secret.
    pub env: Option<String>,
    /// Actor for the secret's holder, as `access:<name>`.
    pub actor: Option<String>,
}

impl Dashboard {
    /// Returns the gate. `variable` reads the environment.
    pub fn gate(
        &self,
        variable: impl Fn(&str) -> Option<String>,
        is_public: bool,
    ) -> Result<Gate, ConfigError> {
        let proxy = (variable(ACCESS_TEAM_DOMAIN), variable(ACCESS_AUD));
        match (self.auth, proxy) {
            (None | Some(Mode::Access), (Some(team_domain), Some(audience))) => {
                access(team_domain.trim(), audience.trim())
            }
            (Some(Mode::Access), _) => invalid(&format!(
                "`access` needs {ACCESS_TEAM_DOMAIN} and {ACCESS_AUD}"
            )),
            // Without a configured mode the pages are for this machine only.
            (None, _) => Ok(Gate::Loopback),
            (Some(Mode::None), _) if is_public => {
                invalid("`none` is for one machine, and PUBLIC_BASE_URL names another")
            }
            (Some(Mode::None), _) if variable(name::PEER_HEADER).is_some() => invalid(
                "`none` is for callers on this machine, and with PEER_HEADER all come through a proxy",
            ),
            (Some(Mode::None), _) => Ok(Gate::Loopback),
            (Some(Mode::Token), _) => {
                let name = self.token.env.as_deref().unwrap_or(DASHBOARD_TOKEN);
                let Some(secret) = Secret::parse(variable(name)) else {
                    return invalid(&format!("`token` needs a secret in {name}"));
                };
                Ok(Gate::Token {
                    secret,
                    actor: self.actor()?,
                })
            }
        }
    }

    fn actor(&self) -> Result<String, ConfigError> {
        let invalid = |problem: &str| Err(ConfigError::invalid("dashboard.token.actor", problem));
        let Some(actor) = &self.token.actor else {
            return invalid("mode `token` needs an actor");
        };
        let is_plain = |name: &str| {
            !name.is_empty()
                && actor.len() <= MAX_ACTOR_CHARS
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || ":@._-".contains(c))
        };
        match Platform::split(actor) {
            Some((Platform::Access, name)) if is_plain(name) => Ok(actor.clone()),
            _ => invalid("must be access:<name>, of letters, digits and :@._-"),
        }
    }
}

fn invalid(problem: &str) -> Result<Gate, ConfigError> {
    Err(ConfigError::invalid("dashboard.auth", problem))
}

fn access(team_domain: &str, audience: &str) -> Result<Gate, ConfigError> {
    let Some(proxy) = Proxy::new(team_domain, audience) else {
        let problem =
            format!("{ACCESS_TEAM_DOMAIN} must be a host name, and {ACCESS_AUD} one word");
        return invalid(&problem);
    };
    let Ok(certificates) = TeamCertificates::new(&proxy, &environment::upstream()) else {
        return invalid("the HTTP client for the keys of the access proxy cannot be set up");
    };
    Ok(Gate::Access(Arc::new(Access::new(
        proxy,
        Arc::new(certificates),
    ))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(text: &str, secret: Option<&str>, is_public: bool) -> Result<Option<String>, String> {
        let dashboard: Dashboard = toml::from_str(text).unwrap();
        let read = |name: &str| {
            secret
                .filter(|_| name == DASHBOARD_TOKEN)
                .map(str::to_owned)
        };
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
            (
                "auth = \"token\"\n[token]\nactor = \"http:ops\"",
                Some("s"),
                "dashboard.token.actor",
            ),
            (
                "auth = \"token\"\n[token]\nactor = \"access:\"",
                Some("s"),
                "dashboard.token.actor",
            ),
            (
                "auth = \"token\"\n[token]\nactor = \"access:a b\"",
                Some("s"),
                "dashboard.token.actor",
            ),
            (
                "auth = \"token\"\n[token]\nenv = \"OTHER\"\nactor = \"access:a\"",
                Some("s"),
                "OTHER",
            ),
        ] {
            let problem = gate(text, secret, true).unwrap_err();
            assert!(problem.contains(word), "{text}: {problem}");
        }
    }

    fn of_environment(text: &str, variables: &[(&str, &str)]) -> Result<&'static str, String> {
        let dashboard: Dashboard = toml::from_str(text).unwrap();
        let read = |name: &str| {
            variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        };
        let is_public = !variables.iter().any(|(name, _)| *name == name::PEER_HEADER);
        dashboard
            .gate(read, is_public)
            .map(|gate| gate.mode())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn access_is_the_default_with_both_variables() {
        let both = [
            (ACCESS_TEAM_DOMAIN, "team.example.com"),
            (ACCESS_AUD, "app"),
        ];
        assert_eq!(of_environment("", &both), Ok("access"));
        assert_eq!(of_environment("auth = \"access\"", &both), Ok("access"));
        assert_eq!(of_environment("", &both[..1]), Ok("none"));
        assert_eq!(of_environment("", &both[1..]), Ok("none"));
        let token = "auth = \"token\"\n[token]\nactor = \"access:ops\"";
        let all = [both[0], both[1], (DASHBOARD_TOKEN, "s")];
        let behind_a_proxy = [(name::PEER_HEADER, "x-peer")];
        assert_eq!(of_environment("", &behind_a_proxy), Ok("none"));
        assert_eq!(of_environment(token, &all), Ok("token"));
        for (text, variables, word) in [
            ("auth = \"access\"", &both[..1], ACCESS_AUD),
            ("auth = \"access\"", &both[1..], ACCESS_TEAM_DOMAIN),
            ("auth = \"access\"", &[], ACCESS_TEAM_DOMAIN),
            (
                "",
                &[
                    (ACCESS_TEAM_DOMAIN, "https://team.example.com"),
                    (ACCESS_AUD, "app"),
                ],
                "host name",
            ),
            ("auth = \"none\"", &both, "PUBLIC_BASE_URL"),
            ("auth = \"none\"", &behind_a_proxy, name::PEER_HEADER),
        ] {
            let problem = of_environment(text, variables).unwrap_err();
            assert!(
                problem.contains("dashboard.auth") && problem.contains(word),
                "{text}: {problem}"
            );
        }
    }
}
