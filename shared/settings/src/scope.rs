//! Settings for a single channel, user or organization.

use std::collections::BTreeMap;

use ars_types::{Effort, ModelRef};
use serde::Serialize;
use serde_json::{Map, Value};

/// A single scope. Lower scopes resolve absent settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    /// Agent for requests that name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Model for any agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelRef>,
    /// Models keyed by agent name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, ModelRef>,
    /// Effort for any agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Efforts keyed by agent name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub efforts: BTreeMap<String, Effort>,
    /// Advice to the model. It never chooses an agent or a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// External MCP servers by name, as given.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub mcp_servers: Map<String, Value>,
}

impl Scope {
    /// Returns this scope with its absent settings filled from the scope `below`.
    ///
    /// `models.<agent>`, `efforts.<agent>` and each server are separate keys: setting an agent's
    /// model keeps another agent's model.
    #[must_use]
    pub fn over(&self, below: &Self) -> Self {
        Self {
            agent: self.agent.clone().or_else(|| below.agent.clone()),
            model: self.model.clone().or_else(|| below.model.clone()),
            models: merged(&self.models, &below.models),
            effort: self.effort.or(below.effort),
            efforts: merged(&self.efforts, &below.efforts),
            instructions: self
                .instructions
                .clone()
                .or_else(|| below.instructions.clone()),
            mcp_servers: self.servers_over(&below.mcp_servers),
        }
    }

    /// Returns whether it has no setting.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns every agent it names, each with the key that names it.
    pub fn agents(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let own = self.agent.iter().map(|agent| ("agent", agent.as_str()));
        let models = self.models.keys().map(|agent| ("models", agent.as_str()));
        own.chain(models)
            .chain(self.efforts.keys().map(|agent| ("efforts", agent.as_str())))
    }

    /// Merges a request's servers: organization, channel, user. Among equal names the first wins.
    pub fn servers(org: &Self, channel: &Self, user: &Self) -> Map<String, Value> {
        org.servers_over(&channel.servers_over(&user.mcp_servers))
    }

    fn servers_over(&self, below: &Map<String, Value>) -> Map<String, Value> {
        let mut servers = self.mcp_servers.clone();
        for (name, server) in below {
            servers.entry(name).or_insert_with(|| server.clone());
        }
        servers
    }
}

fn merged<T: Clone>(
    over: &BTreeMap<String, T>,
    below: &BTreeMap<String, T>,
) -> BTreeMap<String, T> {
    let both = below.iter().chain(over);
    both.map(|(agent, value)| (agent.clone(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::read::scope;

    fn read(value: &Value) -> Scope {
        scope(value, "scope").unwrap()
    }

    #[test]
    fn upper_scope_wins_key_by_key() {
        let below = read(&json!({
            "agent": "general", "model": "a/below", "models": { "coding": "a/c", "review": "a/r" },
            "effort": "low", "efforts": { "coding": "low" }, "instructions": "below",
            "mcpServers": { "one": { "url": "below" }, "two": {} },
        }));
        let above = read(&json!({
            "model": "a/above", "models": { "coding": "b/c" }, "efforts": { "review": "max" },
            "instructions": "above", "mcpServers": { "one": { "url": "above" }, "three": {} },
        }));
        let expected = json!({
            "agent": "general", "model": "a/above", "models": { "coding": "b/c", "review": "a/r" },
            "effort": "low", "efforts": { "coding": "low", "review": "max" }, "instructions": "above",
            "mcpServers": { "one": { "url": "above" }, "three": {}, "two": {} },
        });
        assert_eq!(serde_json::to_value(above.over(&below)).unwrap(), expected);
        assert_eq!(Scope::default().over(&below), below);
        assert_eq!(below.over(&Scope::default()), below);
    }

    #[test]
    fn organization_servers_win_then_channel_servers() {
        let scope = |servers: Value| read(&json!({ "mcpServers": servers }));
        let org = scope(json!({ "a": 1 }));
        let channel = scope(json!({ "a": 2, "b": 2 }));
        let user = scope(json!({ "a": 3, "b": 3, "c": 3 }));
        let servers = Scope::servers(&org, &channel, &user);
        assert_eq!(Value::Object(servers), json!({ "a": 1, "b": 2, "c": 3 }));
    }

    #[test]
    fn every_agent_is_named_with_its_key() {
        let scope =
            read(&json!({ "agent": "a", "models": { "b": "x/y" }, "efforts": { "c": "low" } }));
        assert_eq!(
            scope.agents().collect::<Vec<_>>(),
            [("agent", "a"), ("models", "b"), ("efforts", "c")]
        );
        assert!(!scope.is_empty() && Scope::default().is_empty());
    }
}
