//! `[sandbox.egress]`: the hosts that commands reach through the proxy.

use std::collections::BTreeMap;

use ars_bot_adapters::egress::{EgressSettings, HostRule};
use serde::Deserialize;

use super::ConfigError;

/// Settings in the `[sandbox.egress]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Egress {
    /// Whether public package registry hosts are allowed.
    pub registries: bool,
    /// Hosts allowed in every run.
    pub allow: Vec<String>,
    /// More hosts, by repository name.
    pub repositories: BTreeMap<String, Vec<String>>,
    /// More hosts, by agent name.
    pub agents: BTreeMap<String, Vec<String>>,
    /// Agents that may push with the service's login, by repository name.
    pub push: BTreeMap<String, Vec<String>>,
}

impl Default for Egress {
    fn default() -> Self {
        let (repositories, agents) = (BTreeMap::new(), BTreeMap::new());
        Self {
            registries: true,
            allow: Vec::new(),
            repositories,
            agents,
            push: BTreeMap::new(),
        }
    }
}

impl Egress {
    /// Returns the proxy's settings.
    pub fn settings(&self) -> Result<EgressSettings, ConfigError> {
        Ok(EgressSettings {
            registries: self.registries,
            allow: rules("sandbox.egress.allow", &self.allow)?,
            repositories: lists("repositories", &self.repositories)?,
            agents: lists("agents", &self.agents)?,
            push: self.push.clone(),
        })
    }
}

fn lists(
    table: &str,
    lists: &BTreeMap<String, Vec<String>>,
) -> Result<BTreeMap<String, Vec<HostRule>>, ConfigError> {
    let parse = |(name, entries): (&String, &Vec<String>)| {
        Ok((
            name.clone(),
            rules(&format!("sandbox.egress.{table}.{name}"), entries)?,
        ))
    };
    lists.iter().map(parse).collect()
}

pub(super) fn rules(key: &str, entries: &[String]) -> Result<Vec<HostRule>, ConfigError> {
    let parse = |(index, entry): (usize, &String)| {
        let parsed = HostRule::parse(entry);
        parsed.map_err(|error| ConfigError::invalid(format!("{key}[{index}]"), error.to_string()))
    };
    entries.iter().enumerate().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Result<EgressSettings, String> {
        let parsed: Egress = toml::from_str(text).map_err(|error| error.to_string())?;
        parsed.settings().map_err(|error| error.to_string())
    }

    #[test]
    fn lists_are_read() {
        let text = "registries = false\nallow = [\"a.example\"]\n[repositories]\n\"acme/app\" = [\"*.b.example\"]\n\
                    [agents]\ncoding = [\"c:3000\"]\n[push]\n\"acme/app\" = [\"coding\"]";
        let settings = settings(text).unwrap();
        assert!(!settings.registries);
        assert_eq!(settings.allow[0].to_string(), "a.example");
        assert_eq!(
            settings.repositories["acme/app"][0].to_string(),
            "*.b.example"
        );
        assert_eq!(settings.agents["coding"][0].to_string(), "c:3000");
        assert_eq!(settings.push["acme/app"], ["coding"]);
    }

    #[test]
    fn invalid_entry_is_named_by_its_key() {
        for (text, key) in [
            (
                "allow = [\"a.example\", \"https://b.example\"]",
                "sandbox.egress.allow[1]",
            ),
            (
                "[agents]\ncoding = [\"10.0.0.1:80\"]",
                "sandbox.egress.agents.coding[0]",
            ),
            (
                "[repositories]\n\"acme/app\" = [\"*\"]",
                "sandbox.egress.repositories.acme/app[0]",
            ),
        ] {
            let error = settings(text).unwrap_err();
            assert!(error.contains(key), "{error}");
        }
    }
}
