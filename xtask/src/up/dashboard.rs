//! The run pages: their address, their mode, and the secret that opens them, by the bot's own rules.

use anyhow::Result;
use serde::Serialize;
use serde_json::Value;

use super::config;
use super::environment::set;
use super::options::Options;
use super::secrets::{DASHBOARD_TOKEN, Secrets};

/// The run pages. No `Debug`: it holds a secret.
#[derive(Serialize)]
pub struct Dashboard {
    /// The index of runs.
    pub url: String,
    /// `none`, `token` or `access`.
    pub mode: String,
    /// The secret of mode `token`, if it is known here.
    pub token: Option<String>,
}

impl Dashboard {
    /// Returns the pages of the bot at this address.
    pub fn of(options: &Options, bot: &str, secrets: &Secrets) -> Result<Self> {
        let text = config::text(options)?;
        let variable = |name: &str| match name {
            DASHBOARD_TOKEN => Some(secrets.dashboard.clone()),
            name => set(name),
        };
        Ok(Self::configured(bot, &section(&text, config::format_of(options)), variable))
    }

    fn configured(bot: &str, section: &Value, variable: impl Fn(&str) -> Option<String>) -> Self {
        let mode = match section["auth"].as_str() {
            Some(mode) => mode,
            None if config::has_proxy(&variable) => "access",
            None => "none",
        };
        let name = section["token"]["env"].as_str().unwrap_or(DASHBOARD_TOKEN);
        let token = (mode == "token").then(|| variable(name)).flatten();
        Self { url: format!("{bot}/runs"), mode: mode.to_owned(), token }
    }
}

/// Returns the section `dashboard`. The bot has rejected a malformed text already.
fn section(text: &str, format: &str) -> Value {
    let parsed: Option<Value> = match format {
        "json" => serde_json::from_str(text).ok(),
        "yaml" => serde_saphyr::from_str(text).ok(),
        _ => toml::from_str(text).ok(),
    };
    parsed.and_then(|root| root.get("dashboard").cloned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mode_and_secret_follow_the_configuration() {
        let proxy = ["ACCESS_TEAM_DOMAIN", "ACCESS_AUD"];
        let token = "[dashboard]\nauth = \"token\"";
        let other = "dashboard:\n  auth: token\n  token: {env: OTHER}\n";
        for (text, format, known, mode, secret) in [
            ("", "toml", &[][..], "none", None),
            ("", "yaml", &[DASHBOARD_TOKEN], "none", None),
            ("{}", "json", &proxy, "access", None),
            ("", "toml", &proxy[..1], "none", None),
            (token, "toml", &[DASHBOARD_TOKEN], "token", Some(DASHBOARD_TOKEN)),
            (token, "toml", &proxy, "token", None),
            (other, "yaml", &["OTHER", DASHBOARD_TOKEN], "token", Some("OTHER")),
            (r#"{"dashboard": {"auth": "none"}}"#, "json", &proxy, "none", None),
        ] {
            let variable = |name: &str| known.contains(&name).then(|| name.to_owned());
            let found = Dashboard::configured("http://b", &section(text, format), variable);
            assert_eq!(found.url, "http://b/runs");
            assert_eq!((found.mode.as_str(), found.token.as_deref()), (mode, secret), "{text} {known:?}");
        }
    }
}
