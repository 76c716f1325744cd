//! An installation's scopes, from the configuration file or as overrides made at run time.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::{Fault, Scope, Target, read};

/// Maximum size of the overrides document in bytes.
pub const MAX_BYTES: usize = 256 * 1024;

/// Scopes by owner. As JSON they are the overrides document, `{ channels, users, org? }`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Scopes {
    /// Channel scopes, by channel id.
    pub channels: BTreeMap<String, Scope>,
    /// User scopes, by actor id.
    pub users: BTreeMap<String, Scope>,
    /// The organization's scope.
    #[serde(skip_serializing_if = "Scope::is_empty")]
    pub org: Scope,
}

impl Scopes {
    /// Parses the overrides document.
    pub fn read(document: &Value) -> Result<Self, Fault> {
        read::scopes(document)
    }

    /// Returns the overrides document.
    ///
    /// # Errors
    /// The document is too large.
    pub fn document(&self) -> Result<Value, Fault> {
        let document =
            serde_json::to_value(self).map_err(|_| Fault::field("overrides", "must be JSON"))?;
        if document.to_string().len() > MAX_BYTES {
            return Err(Fault::TooLarge { max: MAX_BYTES });
        }
        Ok(document)
    }

    /// Returns the target's scope.
    pub fn get(&self, target: Target<'_>) -> Option<&Scope> {
        match target {
            Target::Channel(id) => self.channels.get(id),
            Target::User(id) => self.users.get(id),
            Target::Org => Some(&self.org),
        }
    }

    /// Returns the target's scope with the overrides applied key by key.
    pub fn effective(&self, overrides: &Self, target: Target<'_>) -> Scope {
        let below = self.get(target);
        let Some(above) = overrides.get(target) else {
            return below.cloned().unwrap_or_default();
        };
        below.map_or_else(|| above.clone(), |below| above.over(below))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_is_read_as_it_was_written() {
        let document = json!({
            "channels": { "slack:C1": { "agent": "coding", "model": "a/b/c", "instructions": "be kind" } },
            "users": { "slack:U1": {
                "models": { "coding": "a/b" }, "effort": "xhigh", "efforts": { "review": "low" },
                "mcpServers": { "docs": { "url": "https://docs.example", "deep": [null, 1.5] } },
            } },
            "org": { "mcpServers": { "wiki": {} } },
        });
        assert_eq!(
            Scopes::read(&document).unwrap().document().unwrap(),
            document
        );
        let empty = json!({ "channels": {}, "users": {} });
        assert_eq!(Scopes::read(&json!({})).unwrap().document().unwrap(), empty);
    }

    #[test]
    fn fault_names_the_field_but_not_the_value() {
        let channel = |scope: Value| json!({ "channels": { "C1": scope } });
        let long = "x".repeat(201);
        for (document, field) in [
            (json!([]), "overrides"),
            (json!({ "secret": {} }), "overrides"),
            (json!({ "channels": [] }), "channels"),
            (json!({ "users": { "": {} } }), "users"),
            (json!({ "users": { (long): {} } }), "users"),
            (json!({ "org": "secret" }), "org"),
            (channel(json!("secret")), "channels.C1"),
            (channel(json!({ "secret": 1 })), "channels.C1"),
            (
                channel(json!({ "agent": "secret agent" })),
                "channels.C1.agent",
            ),
            (channel(json!({ "model": "secret" })), "channels.C1.model"),
            (channel(json!({ "model": null })), "channels.C1.model"),
            (
                channel(json!({ "models": { "coding": "secret" } })),
                "channels.C1.models.coding",
            ),
            (
                channel(json!({ "models": { "Secret!": "a/b" } })),
                "channels.C1.models",
            ),
            (channel(json!({ "effort": "secret" })), "channels.C1.effort"),
            (
                channel(json!({ "efforts": { "coding": "secret" } })),
                "channels.C1.efforts.coding",
            ),
            (
                channel(json!({ "instructions": 1 })),
                "channels.C1.instructions",
            ),
            (
                channel(json!({ "instructions": "secret".repeat(334) })),
                "channels.C1.instructions",
            ),
            (
                channel(json!({ "mcpServers": ["secret"] })),
                "channels.C1.mcpServers",
            ),
        ] {
            let fault = Scopes::read(&document).unwrap_err().to_string();
            assert!(fault.starts_with(&format!("{field} ")), "{fault}");
            assert!(!fault.to_lowercase().contains("secret"), "{fault}");
        }
    }

    #[test]
    fn overrides_replace_only_their_keys() {
        let file = json!({ "channels": { "C1": { "agent": "general", "effort": "low" }, "C2": { "agent": "review" } } });
        let file = Scopes::read(&file).unwrap();
        let overrides =
            Scopes::read(&json!({ "channels": { "C1": { "agent": "coding" } } })).unwrap();
        let effective =
            |id| serde_json::to_value(file.effective(&overrides, Target::Channel(id))).unwrap();
        assert_eq!(
            effective("C1"),
            json!({ "agent": "coding", "effort": "low" })
        );
        assert_eq!(effective("C2"), json!({ "agent": "review" }));
        assert_eq!(effective("C3"), json!({}));
        assert!(file.effective(&overrides, Target::User("C1")).is_empty());
    }

    #[test]
    fn document_size_is_limited() {
        let with = |bytes: usize| {
            let mut scopes = Scopes::default();
            let _ = scopes
                .org
                .mcp_servers
                .insert("a".into(), json!("x".repeat(bytes)));
            scopes
        };
        let empty = with(0).document().unwrap().to_string().len();
        assert_eq!(
            with(MAX_BYTES - empty)
                .document()
                .unwrap()
                .to_string()
                .len(),
            MAX_BYTES
        );
        assert_eq!(
            with(MAX_BYTES - empty + 1).document(),
            Err(Fault::TooLarge { max: MAX_BYTES })
        );
    }
}
