//! Validates input: names, then presence, then values, then defaults.

use serde_json::Map;

use crate::{Definition, Input, InvalidInput, Presence, RawInput, coerce::coerce};

impl Definition {
    /// Returns the validated input.
    ///
    /// # Errors
    ///
    /// Returns the first fault in definition order.
    pub fn validate(&self, raw: &RawInput) -> Result<Input, InvalidInput> {
        let mut named = self.named(raw)?;
        let mut values = Map::new();
        for field in self.fields() {
            let value = match (named.remove(field.name), field.presence) {
                (Some(value), _) => coerce(field.name, &field.kind, value)?,
                (None, Presence::Required) => return Err(InvalidInput::Missing(field.name)),
                (None, Presence::Default(default)) => default.to_json(),
                (None, Presence::Optional | Presence::Documented(_)) => continue,
            };
            values.insert(field.name.to_owned(), value);
        }
        Ok(Input { values })
    }
}

#[cfg(test)]
#[path = "validate_tests.rs"]
mod tests;
