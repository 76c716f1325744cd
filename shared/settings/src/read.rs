//! Parses scopes from JSON field by field, so that a fault names the field and never the value.
//!
//! Unknown keys are rejected, because they would be settings without an effect.

use std::collections::BTreeMap;

use ars_types::{Effort, ModelRef};
use serde_json::{Map, Value};

use crate::{Fault, Scope, Scopes, instructions};

/// Maximum length of a channel or user id in characters, as for store keys.
const MAX_ID_CHARS: usize = 200;
/// Maximum length of an agent name in characters.
const MAX_AGENT_CHARS: usize = 64;

/// Parses the overrides document: `{ channels, users, org? }`.
pub(crate) fn scopes(value: &Value) -> Result<Scopes, Fault> {
    let Value::Object(document) = value else {
        return Err(Fault::field("overrides", "must be an object"));
    };
    if !document
        .keys()
        .all(|key| ["channels", "users", "org"].contains(&key.as_str()))
    {
        return Err(Fault::field(
            "overrides",
            "must have no keys but channels, users and org",
        ));
    }
    Ok(Scopes {
        channels: by_id(document, "channels")?,
        users: by_id(document, "users")?,
        org: document
            .get("org")
            .map(|org| scope(org, "org"))
            .transpose()?
            .unwrap_or_default(),
    })
}

fn by_id(
    document: &Map<String, Value>,
    key: &'static str,
) -> Result<BTreeMap<String, Scope>, Fault> {
    let entries = object(document, key, key)?;
    let entries = entries.into_iter().flatten().map(|(id, value)| {
        check_id(id, key)?;
        Ok((id.clone(), scope(value, &format!("{key}.{id}"))?))
    });
    entries.collect()
}

/// Checks a channel or user id.
pub(crate) fn check_id(id: &str, field: &'static str) -> Result<(), Fault> {
    let is_id =
        !id.is_empty() && id.chars().count() <= MAX_ID_CHARS && !id.contains(char::is_control);
    if is_id {
        Ok(())
    } else {
        Err(Fault::field(field, "must have ids of 1 to 200 characters"))
    }
}

/// Parses a single scope. `path` is the place in the document, for faults.
pub(crate) fn scope(value: &Value, path: &str) -> Result<Scope, Fault> {
    const KEYS: [&str; 7] = [
        "agent",
        "model",
        "models",
        "effort",
        "efforts",
        "instructions",
        "mcpServers",
    ];
    let Value::Object(scope) = value else {
        return Err(Fault::field(path, "must be an object"));
    };
    if !scope.keys().all(|key| KEYS.contains(&key.as_str())) {
        let rule = "must have no keys but agent, model, models, effort, efforts, instructions and mcpServers";
        return Err(Fault::field(path, rule));
    }
    let at = |key: &str| format!("{path}.{key}");
    let agent = optional(scope, "agent", path, agent, AGENT_RULE)?;
    let instructions = optional(
        scope,
        "instructions",
        path,
        |v| v.as_str().map(str::to_owned),
        "must be a string",
    )?;
    if let Some(text) = &instructions {
        instructions::check(text, &at("instructions"))?;
    }
    Ok(Scope {
        agent,
        model: optional(scope, "model", path, model, MODEL_RULE)?,
        models: by_agent(scope, "models", path, model, MODEL_RULE)?,
        effort: optional(scope, "effort", path, effort, EFFORT_RULE)?,
        efforts: by_agent(scope, "efforts", path, effort, EFFORT_RULE)?,
        instructions,
        mcp_servers: object(scope, "mcpServers", &at("mcpServers"))?
            .cloned()
            .unwrap_or_default(),
    })
}

const AGENT_RULE: &str = "must be the name of an agent";
const MODEL_RULE: &str = "must be `provider/model`";
const EFFORT_RULE: &str = "must be low, medium, high, xhigh or max";

fn agent(value: &Value) -> Option<String> {
    value
        .as_str()
        .filter(|name| is_agent_name(name))
        .map(str::to_owned)
}

/// Returns whether a name has the form of an agent name. The known agents are not checked here.
fn is_agent_name(name: &str) -> bool {
    (1..=MAX_AGENT_CHARS).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_')
}

fn model(value: &Value) -> Option<ModelRef> {
    ModelRef::parse(value.as_str()?).ok()
}

fn effort(value: &Value) -> Option<Effort> {
    Effort::parse(value.as_str()?)
}

fn optional<T>(
    scope: &Map<String, Value>,
    key: &str,
    path: &str,
    parse: impl Fn(&Value) -> Option<T>,
    rule: &'static str,
) -> Result<Option<T>, Fault> {
    let value = scope
        .get(key)
        .map(|value| parse(value).ok_or_else(|| Fault::field(format!("{path}.{key}"), rule)));
    value.transpose()
}

fn by_agent<T>(
    scope: &Map<String, Value>,
    key: &str,
    path: &str,
    parse: impl Fn(&Value) -> Option<T>,
    rule: &'static str,
) -> Result<BTreeMap<String, T>, Fault> {
    let at = format!("{path}.{key}");
    let entries = object(scope, key, &at)?
        .into_iter()
        .flatten()
        .map(|(agent, value)| {
            if !is_agent_name(agent) {
                return Err(Fault::field(&at, "must have the names of agents as keys"));
            }
            let value = parse(value).ok_or_else(|| Fault::field(format!("{at}.{agent}"), rule))?;
            Ok((agent.clone(), value))
        });
    entries.collect()
}

fn object<'a>(
    parent: &'a Map<String, Value>,
    key: &str,
    path: &str,
) -> Result<Option<&'a Map<String, Value>>, Fault> {
    match parent.get(key) {
        None => Ok(None),
        Some(Value::Object(object)) => Ok(Some(object)),
        Some(_) => Err(Fault::field(path, "must be an object")),
    }
}
