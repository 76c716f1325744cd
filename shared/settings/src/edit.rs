//! Changes to overrides. Each returns a copy, so that a change takes effect only after it was saved.

use std::collections::BTreeMap;

use crate::{Fault, Scope, Scopes, instructions, read};

/// Who owns a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<'a> {
    /// A channel, by id.
    Channel(&'a str),
    /// A user, by actor id.
    User(&'a str),
    /// The organization owns it.
    Org,
}

impl Scopes {
    /// Returns a copy with the settings from `wanted` applied. Other settings stay.
    pub fn set(&self, target: Target<'_>, wanted: &Scope) -> Result<Self, Fault> {
        if wanted.is_empty() {
            return Err(Fault::Nothing);
        }
        self.edit(target, |scope| *scope = wanted.over(scope))
    }

    /// Returns a copy without the target's scope.
    pub fn clear(&self, target: Target<'_>) -> Self {
        let mut copy = self.clone();
        copy.put(target, Scope::default());
        copy
    }

    /// Returns a copy with these instructions. Empty instructions remove them.
    pub fn instruct(&self, target: Target<'_>, text: &str) -> Result<Self, Fault> {
        instructions::check(text, "text")?;
        self.edit(target, |scope| {
            scope.instructions = (!text.is_empty()).then(|| text.to_owned());
        })
    }

    /// Returns a copy with the target's scope changed.
    ///
    /// # Errors
    /// The new scope breaks a rule, or the document is too large.
    pub fn edit(&self, target: Target<'_>, change: impl FnOnce(&mut Scope)) -> Result<Self, Fault> {
        match target {
            Target::Channel(id) => read::check_id(id, "channels")?,
            Target::User(id) => read::check_id(id, "users")?,
            Target::Org => {}
        }
        let mut scope = self.get(target).cloned().unwrap_or_default();
        change(&mut scope);
        let mut copy = self.clone();
        copy.put(target, scope);
        // The next process reads the saved document, so it must be readable.
        Self::read(&copy.document()?)
    }

    fn put(&mut self, target: Target<'_>, scope: Scope) {
        match target {
            Target::Channel(id) => put(&mut self.channels, id, scope),
            Target::User(id) => put(&mut self.users, id, scope),
            Target::Org => self.org = scope,
        }
    }
}

/// Stores a scope. Removes an empty scope.
fn put(scopes: &mut BTreeMap<String, Scope>, id: &str, scope: Scope) {
    if scope.is_empty() {
        scopes.remove(id);
    } else {
        scopes.insert(id.to_owned(), scope);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const C1: Target<'_> = Target::Channel("C1");
    const U1: Target<'_> = Target::User("U1");

    fn scopes(document: &Value) -> Scopes {
        Scopes::read(document).unwrap()
    }

    fn scope(value: &Value) -> Scope {
        scopes(&json!({ "org": value })).org
    }

    #[test]
    fn set_changes_only_named_settings_in_a_copy() {
        let before = scopes(
            &json!({ "channels": { "C1": { "agent": "general", "models": { "review": "a/r" } } } }),
        );
        let original = before.clone();
        let wanted = scope(&json!({ "agent": "coding", "models": { "coding": "a/c" } }));
        let after = before.set(C1, &wanted).unwrap();
        let expected = json!({ "agent": "coding", "models": { "coding": "a/c", "review": "a/r" } });
        assert_eq!(serde_json::to_value(after.get(C1)).unwrap(), expected);
        assert_eq!(before, original);
        assert_eq!(before.set(C1, &Scope::default()), Err(Fault::Nothing));
    }

    #[test]
    fn clear_removes_only_the_target() {
        let before = scopes(&json!({
            "channels": { "C1": { "agent": "coding", "instructions": "x" }, "C2": { "effort": "low" } },
            "users": { "C1": { "effort": "max" } },
        }));
        let after = json!({ "channels": { "C2": { "effort": "low" } }, "users": { "C1": { "effort": "max" } } });
        assert_eq!(before.clear(C1).document().unwrap(), after);
        assert_eq!(before.clear(U1), before);
    }

    #[test]
    fn instructions_are_set_and_cleared_alone() {
        let before = scopes(&json!({ "users": { "U1": { "effort": "low" } } }));
        let edited = before.instruct(U1, "answer in verse").unwrap();
        assert_eq!(
            edited.users["U1"].instructions.as_deref(),
            Some("answer in verse")
        );
        assert_eq!(edited.instruct(U1, "").unwrap(), before);
        assert_eq!(
            Scopes::default().instruct(U1, "").unwrap(),
            Scopes::default()
        );
        let fault = before.instruct(U1, &"é".repeat(2001)).unwrap_err();
        assert!(fault.to_string().starts_with("text "), "{fault}");
        assert!(before.instruct(U1, &"é".repeat(2000)).is_ok());
    }

    #[test]
    fn unreadable_change_is_rejected() {
        let nobody = Scope {
            agent: Some("no agent".into()),
            ..Scope::default()
        };
        let long = Scope {
            instructions: Some("x".repeat(2001)),
            ..Scope::default()
        };
        for (wanted, field) in [(nobody, "users.U1.agent"), (long, "users.U1.instructions")] {
            let fault = Scopes::default().set(U1, &wanted).unwrap_err();
            assert!(fault.to_string().starts_with(field), "{fault}");
        }
    }

    #[test]
    fn oversized_change_is_rejected() {
        let full = Scopes::default().edit(Target::Org, |org| {
            let _ = org.mcp_servers.insert(
                "a".into(),
                json!("x".repeat(crate::MAX_DOCUMENT_BYTES - 100)),
            );
        });
        let full = full.unwrap();
        let refused = full.instruct(U1, &"x".repeat(100));
        assert_eq!(
            refused,
            Err(Fault::TooLarge {
                max: crate::MAX_DOCUMENT_BYTES
            })
        );
        assert!(matches!(
            full.set(Target::User(""), &scope(&json!({ "effort": "low" }))),
            Err(Fault::Field { .. })
        ));
    }
}
