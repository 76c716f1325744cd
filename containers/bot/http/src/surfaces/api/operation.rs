//! A command's operations: a POST with a JSON body, and for a read also a GET with a query string.

use ars_commands::{Definition, Field, FieldRule, Kind, schema};
use ars_wire::ErrorCode;
use serde_json::{Map, Value, json};

use super::schemas::{Schemas, reference};

/// Component name for every error body.
pub(super) const ERROR: &str = "Error";

/// Codes that both reads and writes return.
const EVERY: [ErrorCode; 6] = [
    ErrorCode::InvalidInput,
    ErrorCode::Unauthorized,
    ErrorCode::NotFound,
    ErrorCode::Conflict,
    ErrorCode::Internal,
    ErrorCode::Unavailable,
];
/// Further codes for a request with a body.
const BODY: [ErrorCode; 4] = [
    ErrorCode::RequestTimeout,
    ErrorCode::PayloadTooLarge,
    ErrorCode::UnsupportedMediaType,
    ErrorCode::RateLimited,
];

/// Returns a command's path item.
pub(super) fn path_item(definition: &Definition, output: Value, schemas: &mut Schemas) -> Value {
    let input = schemas.add(
        &format!("{}.input", definition.id),
        definition.strict_input_schema(),
    );
    let output = schemas.add(&format!("{}.output", definition.id), output);
    let mut post = operation(definition, "post", &output);
    post["requestBody"] = json!({
        // Even without a field the request declares a body's type.
        "required": true,
        "content": { "application/json": { "schema": input } },
    });
    let mut item = json!({ "post": post });
    if !definition.effect.is_write() {
        let mut get = operation(definition, "get", &output);
        get["parameters"] = definition
            .fields()
            .filter_map(|field| parameter(definition, field))
            .collect();
        item["get"] = get;
    }
    item
}

fn operation(definition: &Definition, method: &str, output: &Value) -> Value {
    let of_body = if method == "post" { &BODY[..] } else { &[] };
    let codes = EVERY.iter().chain(of_body);
    let mut responses: Map<String, Value> = codes
        .map(|code| {
            let status = code.http_status().to_string();
            let response = json!({ "$ref": format!("#/components/responses/{status}") });
            (status, response)
        })
        .collect();
    let success = json!({
        "description": "The output.",
        "content": { "application/json": { "schema": output } },
    });
    responses.insert("200".to_owned(), success);
    json!({
        "operationId": format!("{}.{method}", definition.id),
        "summary": definition.about,
        "description": format!("Needs `{}`.", definition.action),
        "tags": [definition.group()],
        "responses": responses,
    })
}

/// Returns a query string parameter. A map's keys have no form there. There is no form for rules
/// between them either, but there is for a field that every caller on the route needs.
fn parameter(definition: &Definition, field: &'static Field) -> Option<Value> {
    if matches!(field.kind, Kind::Map { .. }) {
        return None;
    }
    let is_of_caller = definition.rules.contains(&FieldRule::OfCaller {
        field: field.name,
        when: None,
    });
    let about = match is_of_caller {
        true => format!(
            "{}; required here, because a caller over HTTP has none of its own",
            field.about
        ),
        false => field.about.to_owned(),
    };
    Some(json!({
        "name": field.name,
        "in": "query",
        "description": about,
        "required": field.is_required() || is_of_caller,
        "schema": schema::of_field(field),
    }))
}

/// Returns the responses that operations refer to.
pub(super) fn error_responses() -> Value {
    let mut responses = Map::new();
    for code in EVERY.iter().chain(&BODY) {
        let description = match code {
            ErrorCode::InvalidInput => {
                "The input is invalid. The text names the field and its rule."
            }
            ErrorCode::Unauthorized => {
                "The caller is not admitted, lacks the permission, or is a page of another site."
            }
            ErrorCode::NotFound => "The resource does not exist, or the caller may not read it.",
            ErrorCode::Conflict => "The request contradicts the current state.",
            ErrorCode::Unavailable => {
                "A dependency is off or does not answer. A retry may succeed."
            }
            ErrorCode::RequestTimeout => "The body did not arrive in time.",
            ErrorCode::PayloadTooLarge => "The body is larger than 1000000 bytes.",
            ErrorCode::RateLimited => {
                "The caller made too many writes. `Retry-After` has the seconds to wait."
            }
            ErrorCode::UnsupportedMediaType => "The body is not declared as JSON.",
            _ => "A fault of the service.",
        };
        let body = json!({ "application/json": { "schema": reference(ERROR) } });
        let response = json!({ "description": description, "content": body });
        responses.insert(code.http_status().to_string(), response);
    }
    Value::Object(responses)
}

/// Returns the schema for an error body.
pub(super) fn error_schema() -> Value {
    let other = [
        ErrorCode::Forbidden,
        ErrorCode::ForbiddenOrigin,
        ErrorCode::MethodNotAllowed,
    ];
    let codes: Vec<&str> = EVERY
        .iter()
        .chain(&BODY)
        .chain(&other)
        .map(|code| code.as_str())
        .collect();
    json!({
        "type": "object",
        "properties": {
            "error": { "type": "string", "description": "for people; names fields and never values" },
            "code": { "type": "string", "enum": codes },
        },
        "required": ["error", "code"],
        "additionalProperties": false,
    })
}
