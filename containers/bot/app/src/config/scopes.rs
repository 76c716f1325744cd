//! `[channels."<id>"]`, `[users."<id>"]` and the servers in `[defaults]`. These are settings for
//! single channels, for single users, and for all.
//!
//! Not here: overrides at run time, which replace these key by key (`ars_bot_core::overrides`).

use std::collections::BTreeMap;

use ars_bot_tools::agents;
use ars_settings::{MAX_INSTRUCTIONS_CHARS, Scope, Scopes};
use ars_types::{Effort, ModelRef};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::ConfigError;

/// Settings for a single scope.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Entry {
    /// Agent for a request that names none.
    agent: Option<String>,
    /// Model for every agent.
    model: Option<ModelRef>,
    /// Model for each agent.
    models: BTreeMap<String, ModelRef>,
    /// Effort for every agent.
    effort: Option<Effort>,
    /// Effort for each agent.
    efforts: BTreeMap<String, Effort>,
    /// Advice to the model.
    instructions: Option<String>,
    /// External MCP servers, by name.
    #[serde(alias = "mcp_servers")]
    mcp_servers: Map<String, Value>,
}

/// Returns a file's scopes, with known agents and texts within their limits.
pub fn scopes(
    channels: &BTreeMap<String, Entry>,
    users: &BTreeMap<String, Entry>,
    mcp_servers: &Map<String, Value>,
) -> Result<Scopes, ConfigError> {
    let scopes = Scopes {
        channels: checked("channels", channels)?,
        users: checked("users", users)?,
        org: Scope {
            mcp_servers: mcp_servers.clone(),
            ..Scope::default()
        },
    };
    if name_mcp_servers(&scopes) {
        tracing::warn!(
            "mcpServers are configured, and no run of this version is given their tools"
        );
    }
    Ok(scopes)
}

fn name_mcp_servers(scopes: &Scopes) -> bool {
    let entries = scopes.channels.values().chain(scopes.users.values());
    entries
        .chain([&scopes.org])
        .any(|scope| !scope.mcp_servers.is_empty())
}

fn checked(
    key: &str,
    entries: &BTreeMap<String, Entry>,
) -> Result<BTreeMap<String, Scope>, ConfigError> {
    let scopes = entries.iter().map(|(id, entry)| {
        if id.is_empty() {
            return Err(ConfigError::invalid(
                key,
                "must name its owner, such as `http:ops`",
            ));
        }
        let scope = entry.scope();
        // An id is not a secret, and the error must name the entry.
        let invalid = |field: &str, problem: String| {
            ConfigError::invalid(format!("{key}.{id}.{field}"), problem)
        };
        if let Some((field, _)) = scope
            .agents()
            .find(|(_, agent)| agents::find(agent).is_none())
        {
            return Err(invalid(
                field,
                format!("the agents are: {}", agents::names()),
            ));
        }
        let characters = scope
            .instructions
            .as_deref()
            .map_or(0, |text| text.chars().count());
        if characters > MAX_INSTRUCTIONS_CHARS {
            let problem = format!("must have at most {MAX_INSTRUCTIONS_CHARS} characters");
            return Err(invalid("instructions", problem));
        }
        Ok((id.clone(), scope))
    });
    scopes.collect()
}

impl Entry {
    fn scope(&self) -> Scope {
        Scope {
            agent: self.agent.clone(),
            model: self.model.clone(),
            models: self.models.clone(),
            effort: self.effort,
            efforts: self.efforts.clone(),
            instructions: self.instructions.clone(),
            mcp_servers: self.mcp_servers.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::parse_toml, *};

    fn scopes_of(text: &str) -> Result<Scopes, ConfigError> {
        let file = parse_toml(text)?;
        scopes(&file.channels, &file.users, &file.defaults.mcp_servers)
    }

    #[test]
    fn unused_external_servers_are_logged() {
        for (text, are_named) in [
            ("[channels.\"http:ops\"]\nagent = \"coding\"", false),
            (
                "[defaults.mcp_servers.wiki]\nurl = \"https://wiki.example\"",
                true,
            ),
            (
                "[users.\"http:ann\"]\nmcp_servers.docs = { url = \"https://docs.example\" }",
                true,
            ),
            (
                "[channels.\"http:ops\"]\nmcp_servers.docs = { url = \"https://docs.example\" }",
                true,
            ),
        ] {
            assert_eq!(
                name_mcp_servers(&scopes_of(text).unwrap()),
                are_named,
                "{text}"
            );
        }
    }

    #[test]
    fn file_scopes_equal_the_override_document() {
        let text = r#"
            [defaults.mcp_servers.wiki]
            url = "https://wiki.example"

            [channels."http:ops"]
            agent = "coding"
            model = "anthropic/m"
            instructions = "be brief"

            [users."http:ann"]
            effort = "max"
            models = { coding = "local/m" }
            efforts = { general = "low" }
            mcp_servers.docs = { url = "https://docs.example", agents = ["general"] }
        "#;
        let expected = json!({
            "channels": { "http:ops": { "agent": "coding", "model": "anthropic/m", "instructions": "be brief" } },
            "users": { "http:ann": {
                "models": { "coding": "local/m" }, "effort": "max", "efforts": { "general": "low" },
                "mcpServers": { "docs": { "url": "https://docs.example", "agents": ["general"] } },
            } },
            "org": { "mcpServers": { "wiki": { "url": "https://wiki.example" } } },
        });
        assert_eq!(scopes_of(text).unwrap().document().unwrap(), expected);
        assert_eq!(scopes_of("").unwrap(), Scopes::default());
    }

    #[test]
    fn error_names_key_not_value() {
        let long = format!("[channels.C1]\ninstructions = \"{}\"", "é".repeat(2001));
        for (text, words) in [
            (
                "[channels.C1]\nagent = \"hunter2\"",
                ["channels.C1.agent", "general"],
            ),
            (
                "[users.\"http:a\".models]\nhunter2 = \"a/b\"",
                ["users.http:a.models", "coding"],
            ),
            (
                "[channels.C1.efforts]\nhunter2 = \"low\"",
                ["channels.C1.efforts", "coding"],
            ),
            (
                "[channels.C1]\nmodel = \"hunter2\"",
                ["line 2, `model`", "provider/model"],
            ),
            (
                "[channels.C1]\neffort = \"hunter2\"",
                ["line 2, `effort`", "medium"],
            ),
            (
                "[channels.C1]\npersona = \"hunter2\"",
                ["line 2", "persona"],
            ),
            ("[users.\"\"]\neffort = \"low\"", ["users", "owner"]),
            (&long, ["channels.C1.instructions", "2000"]),
        ] {
            let problem = scopes_of(text).unwrap_err().to_string();
            assert!(
                words.iter().all(|word| problem.contains(word)),
                "{text}: {problem}"
            );
            assert!(!problem.contains("hunter2"), "{problem}");
        }
    }
}
