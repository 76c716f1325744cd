//! A single scope's settings, as commands show them.
//!
//! Instructions are shown by length, because they may be long and belong to their writer. An
//! external server's entry is shown without anything that may be a credential.

use std::collections::BTreeMap;

use ars_settings::Scope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Members of a server's entry that are shown.
const SERVER_FACTS: [&str; 2] = ["agents", "auth"];

/// The settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ScopeView {
    /// Agent of requests that name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// Model for any agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Model by agent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    models: BTreeMap<String, String>,
    /// Effort for any agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<String>,
    /// Effort by agent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    efforts: BTreeMap<String, String>,
    /// Length of the instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<String>,
    /// External MCP servers by name.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    mcp_servers: Map<String, Value>,
}

impl ScopeView {
    pub(super) fn from_scope(scope: &Scope) -> Self {
        let texts = |map: &BTreeMap<String, _>| {
            map.iter()
                .map(|(agent, value)| (agent.clone(), to_text(value)))
                .collect()
        };
        Self {
            agent: scope.agent.clone(),
            model: scope.model.as_ref().map(ToString::to_string),
            models: texts(&scope.models),
            effort: scope.effort.as_ref().map(ToString::to_string),
            efforts: scope
                .efforts
                .iter()
                .map(|(agent, effort)| (agent.clone(), effort.to_string()))
                .collect(),
            instructions: scope.instructions.as_ref().map(|text| length(text)),
            mcp_servers: scope
                .mcp_servers
                .iter()
                .map(|(name, server)| (name.clone(), server_facts(server)))
                .collect(),
        }
    }

    /// Returns the settings in lines for people, or a word for none.
    pub(super) fn text(&self) -> String {
        let Ok(Value::Object(members)) = serde_json::to_value(self) else {
            return String::new();
        };
        let mut lines = Vec::new();
        for (name, value) in &members {
            match value {
                Value::Object(inner) => {
                    lines.extend(
                        inner
                            .iter()
                            .map(|(key, value)| format!("- {name}.{key}: {}", plain(value))),
                    );
                }
                value => lines.push(format!("- {name}: {}", plain(value))),
            }
        }
        if lines.is_empty() {
            "- none".to_owned()
        } else {
            lines.join("\n")
        }
    }
}

fn to_text(value: &ars_types::ModelRef) -> String {
    value.to_string()
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns the marker of a text.
fn length(text: &str) -> String {
    match text.chars().count() {
        1 => "(1 character)".to_owned(),
        count => format!("({count} characters)"),
    }
}

/// Returns a server's address without user, query and fragment, and its other facts.
fn server_facts(server: &Value) -> Value {
    let mut facts = Map::new();
    if let Some(url) = server.get("url").and_then(Value::as_str) {
        facts.insert("url".to_owned(), Value::String(place(url)));
    }
    for name in SERVER_FACTS {
        if let Some(value) = server.get(name) {
            facts.insert(name.to_owned(), value.clone());
        }
    }
    Value::Object(facts)
}

/// Returns scheme, host and path of a URL.
fn place(url: &str) -> String {
    let without_query = url.split(['?', '#']).next().unwrap_or_default();
    match without_query.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest
                .split_once('/')
                .map_or((rest, ""), |(host, path)| (host, path));
            let host = authority.rsplit('@').next().unwrap_or_default();
            let slash = if rest.contains('/') { "/" } else { "" };
            format!("{scheme}://{host}{slash}{path}")
        }
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use ars_settings::Scopes;
    use serde_json::json;

    use super::*;

    #[test]
    fn instructions_and_credentials_are_not_shown() {
        let document = json!({ "channels": { "C1": {
            "agent": "coding", "models": { "review": "a/b" }, "effort": "low", "instructions": "canary é",
            "mcpServers": { "docs": { "url": "https://u:canary@docs.example/mcp?key=canary#canary", "auth": "bearer",
                "token": "canary", "headers": { "x": "canary" }, "agents": ["general"] } },
        } } });
        let scopes = Scopes::read(&document).unwrap();
        let view = ScopeView::from_scope(&scopes.channels["C1"]);
        let expected = json!({
            "agent": "coding", "models": { "review": "a/b" }, "effort": "low", "instructions": "(8 characters)",
            "mcpServers": { "docs": { "url": "https://docs.example/mcp", "agents": ["general"], "auth": "bearer" } },
        });
        assert_eq!(serde_json::to_value(&view).unwrap(), expected);
        assert!(
            view.text()
                .starts_with("- agent: coding\n- models.review: a/b\n"),
            "{}",
            view.text()
        );
        assert_eq!(ScopeView::from_scope(&Scope::default()).text(), "- none");
    }

    #[test]
    fn address_is_origin_and_path() {
        for (url, expected) in [
            ("https://a.example", "https://a.example"),
            ("https://a.example/x/y?z", "https://a.example/x/y"),
            ("https://u:p@a.example:8443/", "https://a.example:8443/"),
            ("no address", ""),
        ] {
            assert_eq!(place(url), expected);
        }
    }
}
