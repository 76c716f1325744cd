//! `[web]`: the hosts that `web_fetch` reaches.

use ars_bot_adapters::web::{WebHosts, WebPolicy};
use ars_types::SandboxNetwork;
use serde::Deserialize;

use super::{ConfigError, egress::rules, file::Sandbox};

/// Settings in the `[web]` table.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Web {
    /// Which hosts are reached.
    pub hosts: Option<HostsChoice>,
    /// More hosts for the list.
    pub allow: Vec<String>,
}

/// Values for `web.hosts`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HostsChoice {
    /// All public hosts.
    Any,
    /// Hosts in the list.
    Listed,
    /// No host at all.
    None,
}

impl Web {
    /// Returns the settings for the client, together with those for the sandbox.
    pub fn policy(&self, sandbox: &Sandbox) -> Result<WebPolicy, ConfigError> {
        Ok(WebPolicy {
            is_offline: sandbox.network == Some(SandboxNetwork::None),
            hosts: self.hosts.map(|hosts| match hosts {
                HostsChoice::Any => WebHosts::Any,
                HostsChoice::Listed => WebHosts::Listed,
                HostsChoice::None => WebHosts::None,
            }),
            allow: rules("web.allow", &self.allow)?,
            egress: sandbox.egress.settings()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse_toml;

    fn policy(text: &str) -> Result<WebPolicy, String> {
        let file = parse_toml(text).map_err(|error| error.to_string())?;
        file.web
            .policy(&file.sandbox)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn hosts_and_list_are_read() {
        let set = policy("[web]\nhosts = \"listed\"\nallow = [\"docs.example\"]").unwrap();
        assert_eq!((set.is_offline, set.hosts), (false, Some(WebHosts::Listed)));
        assert_eq!(set.allow[0].to_string(), "docs.example");
        assert!(policy("[sandbox]\nnetwork = \"none\"").unwrap().is_offline);
        assert_eq!(policy("").unwrap().hosts, None);
    }

    #[test]
    fn invalid_entry_names_its_key() {
        let error = policy("[web]\nallow = [\"https://docs.example\"]").unwrap_err();
        assert!(error.contains("web.allow[0]"), "{error}");
    }
}
