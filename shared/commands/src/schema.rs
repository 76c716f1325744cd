//! JSON schemas for input and output.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use crate::{Definition, Field, FieldRule, Kind, coerce::rule};

impl Definition {
    /// Returns the input schema: arguments and options in a single object.
    pub fn input_schema(&self) -> Value {
        let properties: Map<String, Value> = self
            .fields()
            .map(|field| (field.name.to_owned(), of_field(field)))
            .collect();
        let required: Vec<_> = self
            .fields()
            .filter(|field| field.is_required())
            .map(|field| field.name)
            .collect();
        let mut schema = json!({ "type": "object", "properties": properties });
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema["additionalProperties"] = Value::Bool(false);
        schema
    }
}

impl Definition {
    /// Returns the input schema with the rules between fields, for a caller without a channel. An
    /// MCP tool's schema has none of them, because clients refuse such keywords at the top.
    pub fn strict_input_schema(&self) -> Value {
        let mut schema = self.input_schema();
        if !self.rules.is_empty() {
            schema["allOf"] = self.rules.iter().map(|rule| self.of_rule(rule)).collect();
        }
        schema
    }

    fn of_rule(&self, rule: &FieldRule) -> Value {
        let require = |name: &str| json!({ "required": [name] });
        match rule {
            FieldRule::Requires(field, other) => {
                json!({ "if": require(field), "then": require(other) })
            }
            FieldRule::AnyOf(fields) => json!({
                "anyOf": fields.iter().map(|name| match self.field(name).map(|field| field.kind) {
                    // An empty map has no value.
                    Some(Kind::Map { .. }) => {
                        json!({ "required": [name], "properties": { *name: { "minProperties": 1 } } })
                    }
                    _ => require(name),
                }).collect::<Vec<_>>(),
            }),
            FieldRule::OfCaller { field, when: None } => require(field),
            FieldRule::OfCaller {
                field,
                when: Some((other, word)),
            } => json!({
                "if": { "required": [other], "properties": { *other: { "const": word } } },
                "then": require(field),
            }),
        }
    }
}

/// Returns an output type's schema.
pub fn of_output<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}

/// Returns the schema for an argument or option.
pub fn of_field(field: &Field) -> Value {
    let mut schema = of_kind(&field.kind);
    schema["description"] = Value::String(field.about.to_owned());
    if let Some(default) = field.default() {
        schema["default"] = default.to_json();
    }
    schema
}

fn of_kind(kind: &Kind) -> Value {
    match kind {
        Kind::Text { min, max } => json!({ "type": "string", "minLength": min, "maxLength": max }),
        Kind::Rest { max } => json!({ "type": "string", "maxLength": max }),
        Kind::Integer { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Duration => json!({ "type": "number", "minimum": 0 }),
        Kind::Boolean => json!({ "type": "boolean" }),
        Kind::Choice(words) => json!({ "type": "string", "enum": words }),
        Kind::Name(name) => {
            json!({ "type": "string", "pattern": name.pattern, "maxLength": name.max })
        }
        Kind::Map { key, value } => json!({
            "type": "object",
            "propertyNames": { "pattern": key.pattern, "maxLength": key.max },
            "additionalProperties": of_kind(value),
        }),
    }
}

/// Returns a field's rule as a phrase for people.
pub fn rule_of(field: &Field) -> String {
    rule(&field.kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names;

    const STOP: Definition = Definition::destructive("runs.stop", "runs:write", "Stops a run.")
        .with_args(&[Field::required("id", Kind::Name(&names::RUN), "the run")])
        .with_options(&[
            Field::required("mode", Kind::Choice(&["soft", "hard"]), "how"),
            Field::optional("limit", Kind::within(1, 50), "most").or_integer(20),
            Field::optional("afterSeq", Kind::at_least(0), "after"),
            Field::optional(
                "models",
                Kind::Map {
                    key: &names::AGENT,
                    value: &Kind::Name(&names::MODEL),
                },
                "by agent",
            ),
        ]);

    #[test]
    fn input_is_one_closed_object() {
        let expected = json!({
            "type": "object",
            "properties": {
                "id": { "type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$", "maxLength": 64, "description": "the run" },
                "mode": { "type": "string", "enum": ["soft", "hard"], "description": "how" },
                "limit": { "type": "integer", "minimum": 1, "maximum": 50, "description": "most", "default": 20 },
                "afterSeq": { "type": "integer", "minimum": 0, "maximum": 9_007_199_254_740_991_i64, "description": "after" },
                "models": {
                    "type": "object",
                    "propertyNames": { "pattern": names::AGENT.pattern, "maxLength": 64 },
                    "additionalProperties": { "type": "string", "pattern": names::MODEL.pattern, "maxLength": 200 },
                    "description": "by agent",
                },
            },
            "required": ["id", "mode"],
            "additionalProperties": false,
        });
        assert_eq!(STOP.input_schema(), expected);
    }

    #[test]
    fn input_without_required_fields_has_no_list_of_them() {
        let schema = Definition::read("help.show", "help:read", "Help").input_schema();
        assert_eq!(
            schema,
            json!({ "type": "object", "properties": {}, "additionalProperties": false })
        );
    }

    #[test]
    fn strict_input_has_the_rules_between_fields() {
        let rules = &[
            FieldRule::Requires("afterSeq", "limit"),
            FieldRule::AnyOf(&["limit", "models"]),
            FieldRule::OfCaller {
                field: "id",
                when: Some(("mode", "soft")),
            },
            FieldRule::OfCaller {
                field: "id",
                when: None,
            },
        ];
        let expected = json!([
            { "if": { "required": ["afterSeq"] }, "then": { "required": ["limit"] } },
            { "anyOf": [
                { "required": ["limit"] },
                { "required": ["models"], "properties": { "models": { "minProperties": 1 } } },
            ] },
            {
                "if": { "required": ["mode"], "properties": { "mode": { "const": "soft" } } },
                "then": { "required": ["id"] },
            },
            { "required": ["id"] },
        ]);
        assert_eq!(
            STOP.with_rules(rules).strict_input_schema()["allOf"],
            expected
        );
        assert_eq!(STOP.strict_input_schema(), STOP.input_schema());
    }
}
