//! The run pages: their address, their mode, and the secret that opens them, by the bot's own rules.

use anyhow::Result;
use serde::Serialize;
use serde_json::Value;

use super::config::{self, Effective};
use super::environment::set;
use super::options::Options;
use super::secrets::{DASHBOARD_TOKEN, Secrets};

/// The run pages. No `Debug`: it holds a secret.
#[derive(Clone, Serialize)]
pub struct Dashboard {
    /// The run index's address.
    pub url: String,
    /// `none`, `token` or `access`.
    pub mode: String,
    /// The secret for mode `token`, if it is known here.
    pub token: Option<String>,
}

impl Dashboard {
    /// Returns the pages for the bot at this address.
    pub fn new(options: &Options, bot: &str, secrets: &Secrets) -> Result<Self> {
        let section = Effective::read(options)?.dashboard();
        let variable = |name: &str| match name {
            DASHBOARD_TOKEN => Some(secrets.dashboard.clone()),
            name => set(name),
        };
        Ok(Self::configured(bot, &section, variable))
    }

    fn configured(bot: &str, section: &Value, variable: impl Fn(&str) -> Option<String>) -> Self {
        let mode = match section["auth"].as_str() {
            Some(mode) => mode,
            None if config::has_proxy(&variable) => "access",
            None => "none",
        };
        let name = section["token"]["env"].as_str().unwrap_or(DASHBOARD_TOKEN);
        let token = (mode == "token").then(|| variable(name)).flatten();
        Self {
            url: format!("{bot}/runs"),
            mode: mode.to_owned(),
            token,
        }
    }

    /// Returns the address that opens a service path in a browser: it signs in if needed.
    pub fn link(&self, path: &str) -> String {
        let bot = self.url.trim_end_matches("/runs");
        let Some(token) = &self.token else {
            return format!("{bot}{path}");
        };
        let [token, next] = [token, path].map(escaped);
        format!("{bot}/runs/sign-in?token={token}&next={next}")
    }
}

/// Returns the text escaped as a query string value.
fn escaped(text: &str) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(byte);
    let escape = |byte: u8| {
        if is_plain(&byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    text.bytes().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn mode_and_secret_follow_the_configuration() {
        let proxy = ["ACCESS_TEAM_DOMAIN", "ACCESS_AUD"];
        let token = json!({"auth": "token"});
        let other = json!({"auth": "token", "token": {"env": "OTHER"}});
        for (section, known, mode, secret) in [
            (
                json!({"auth": "none"}),
                &[DASHBOARD_TOKEN][..],
                "none",
                None,
            ),
            (json!({}), &proxy, "access", None),
            (
                token.clone(),
                &[DASHBOARD_TOKEN],
                "token",
                Some(DASHBOARD_TOKEN),
            ),
            (token, &proxy, "token", None),
            (other, &["OTHER", DASHBOARD_TOKEN], "token", Some("OTHER")),
        ] {
            let variable = |name: &str| known.contains(&name).then(|| name.to_owned());
            let found = Dashboard::configured("http://b", &section, variable);
            assert_eq!(found.url, "http://b/runs");
            assert_eq!(
                (found.mode.as_str(), found.token.as_deref()),
                (mode, secret),
                "{section} {known:?}"
            );
        }
    }

    #[test]
    fn link_signs_in_and_leads_on() {
        let pages = |token: Option<&str>| Dashboard {
            url: "http://b/runs".into(),
            mode: "token".into(),
            token: token.map(str::to_owned),
        };
        assert_eq!(pages(None).link("/runs/a?t=b"), "http://b/runs/a?t=b");
        let link = "http://b/runs/sign-in?token=s%26c&next=/runs/a%3Ft%3Db";
        assert_eq!(pages(Some("s&c")).link("/runs/a?t=b"), link);
    }
}
