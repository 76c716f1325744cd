//! The description's schemas, as components, so that references resolve in a single document.

use serde_json::{Map, Value};

/// Prefix for a reference within a schema.
const LOCAL: &str = "#/$defs/";
/// Prefix for a reference to a component.
const COMPONENT: &str = "#/components/schemas/";

/// Components in a single document.
#[derive(Debug, Default)]
pub(super) struct Schemas {
    by_name: Map<String, Value>,
}

impl Schemas {
    /// Adds a schema with definitions under names that begin with `name`. Returns the reference.
    pub(super) fn add(&mut self, name: &str, mut schema: Value) -> Value {
        if let Value::Object(members) = &mut schema {
            members.remove("$schema");
            if let Some(Value::Object(definitions)) = members.remove("$defs") {
                for (local, mut definition) in definitions {
                    resolve(name, &mut definition);
                    self.by_name.insert(format!("{name}.{local}"), definition);
                }
            }
        }
        resolve(name, &mut schema);
        self.by_name.insert(name.to_owned(), schema);
        reference(name)
    }

    /// Returns the components as JSON.
    pub(super) fn into_value(self) -> Value {
        Value::Object(self.by_name)
    }
}

/// Returns the reference to a component.
pub(super) fn reference(name: &str) -> Value {
    serde_json::json!({ "$ref": format!("{COMPONENT}{name}") })
}

/// Replaces references within the `name` schema by references to components.
fn resolve(name: &str, value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                let local = value
                    .as_str()
                    .filter(|_| key == "$ref")
                    .and_then(|text| text.strip_prefix(LOCAL));
                match local.map(|local| format!("{COMPONENT}{name}.{local}")) {
                    Some(component) => *value = Value::String(component),
                    None => resolve(name, value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| resolve(name, item)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn definitions_become_components() {
        let mut schemas = Schemas::default();
        let reference = schemas.add(
            "x.output",
            json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "properties": { "a": { "type": "array", "items": { "$ref": "#/$defs/A" } } },
                "$defs": { "A": { "$ref": "#/$defs/B" }, "B": { "type": "string" } },
            }),
        );
        assert_eq!(
            reference,
            json!({ "$ref": "#/components/schemas/x.output" })
        );
        let expected = json!({
            "x.output": {
                "type": "object",
                "properties": {
                    "a": { "type": "array", "items": { "$ref": "#/components/schemas/x.output.A" } },
                },
            },
            "x.output.A": { "$ref": "#/components/schemas/x.output.B" },
            "x.output.B": { "type": "string" },
        });
        assert_eq!(schemas.into_value(), expected);
    }
}
