//! Operations beside the commands: a request, and a run's events, follow-ups and stop.
//!
//! Not here: the routes themselves (`surfaces::ingress`, `dashboard::run`).

use ars_types::{CHANNEL_NAME_MAX, RUN_ID_MAX, RunStatus, StopMode, THREAD_NAME_MAX};
use ars_wire::{ErrorCode, ingress};
use serde_json::{Map, Value, json};

use super::{
    operation,
    schemas::{Schemas, reference},
};

/// Name of the ingress security scheme.
pub(super) const INGRESS: &str = "ingress";
/// Name of the component for ingress errors.
const INGRESS_ERROR: &str = "ingress.error";

/// Adds the operations and their schemas.
pub(super) fn add(paths: &mut Map<String, Value>, schemas: &mut Schemas) {
    for (name, schema) in [
        ("ingress.input", request()),
        ("ingress.reply", reply()),
        ("ingress.accepted", accepted()),
        (INGRESS_ERROR, ingress_error()),
        (
            "runs.steer.input",
            json!({
                "type": "object",
                "properties": { "text": text("the follow-up; directives and commands in it are prose") },
                "required": ["text"],
            }),
        ),
        ("runs.steer.output", changed("queued", &[])),
        ("runs.stopping", changed("stopping", &[("mode", modes())])),
    ] {
        schemas.add(name, schema);
    }
    paths.insert(ingress::ROUTE.to_owned(), json!({ "post": post_request() }));
    for (name, operation) in [
        ("events", json!({ "get": events() })),
        ("steer", json!({ "post": steer() })),
        ("stop", json!({ "post": stop() })),
    ] {
        let mut item = operation;
        item["parameters"] = json!([run_id(), view_token()]);
        paths.insert(format!("/runs/{{id}}/{name}"), item);
    }
}

fn post_request() -> Value {
    let mut responses = json!({
        "200": body("The replies, at the end of the run. With `code`, the request was refused.", "ingress.reply"),
        "202": body("The run was created. Only with `async`.", "ingress.accepted"),
    });
    for (status, description) in [
        ("400", "The body is malformed. The text names the field."),
        ("401", "The bearer is missing, malformed or unknown."),
        ("403", "The token lacks the scope `dispatch`."),
        ("408", "The body did not arrive in time."),
        (
            "409",
            "The answer to the `Idempotency-Key` is no longer kept.",
        ),
        ("413", "The body is larger than 1000000 bytes."),
        ("422", "The `Idempotency-Key` was used with another body."),
        (
            "429",
            "A limit of the caller is reached. `Retry-After` has the seconds to wait.",
        ),
        ("500", "A fault of the service."),
        (
            "503",
            "The ingress is off, or the service is shutting down or at a limit.",
        ),
    ] {
        responses[status] = body(description, INGRESS_ERROR);
    }
    json!({
        "operationId": "ingress.post",
        "summary": "Sends a request to an agent, or a command as text.",
        "tags": ["requests"],
        "security": [{ INGRESS: [] }],
        "parameters": [{
            "name": "Idempotency-Key",
            "in": "header",
            "description": "a repeated request with the same key gets the first answer",
            "required": false,
            "schema": { "type": "string" },
        }],
        "requestBody": content("ingress.input"),
        "responses": responses,
    })
}

fn events() -> Value {
    json!({
        "operationId": "runs.stream",
        "summary": "Streams the events of a run as server-sent events.",
        "description": "Each data frame is an event as `runs.events` returns it. `Last-Event-ID` or `after` resumes.",
        "tags": ["runs"],
        "parameters": [{
            "name": "after",
            "in": "query",
            "description": "the seq of the last event that is known",
            "required": false,
            "schema": { "type": "integer", "minimum": 0 },
        }],
        "responses": with_errors(
            &json!({ "description": "The stream.", "content": { "text/event-stream": { "schema": { "type": "string" } } } }),
            &[],
        ),
    })
}

fn steer() -> Value {
    let mut responses = with_errors(
        &body("The follow-up is queued.", "runs.steer.output"),
        &[
            ErrorCode::InvalidInput,
            ErrorCode::Conflict,
            ErrorCode::RateLimited,
            ErrorCode::Internal,
        ],
    );
    // A refused follow-up has a body like a refused command.
    for code in [ErrorCode::Forbidden, ErrorCode::Unavailable] {
        responses[code.http_status().to_string()]["content"]["application/json"] =
            json!({ "schema": reference(operation::ERROR) });
    }
    json!({
        "operationId": "runs.steer",
        "summary": "Adds a follow-up to a live run.",
        "tags": ["runs"],
        "requestBody": content("runs.steer.input"),
        "responses": responses,
    })
}

fn stop() -> Value {
    json!({
        "operationId": "runs.stopLive",
        "summary": "Stops a live run: after its current step, or at once.",
        "tags": ["runs"],
        "parameters": [{ "name": "mode", "in": "query", "required": true, "schema": modes() }],
        "responses": with_errors(
            &body("The run is stopping.", "runs.stopping"),
            &[ErrorCode::InvalidInput, ErrorCode::Conflict],
        ),
    })
}

/// Returns a run route's responses. Responses about a hidden run and to a viewer who is not
/// admitted are plain text.
fn with_errors(success: &Value, codes: &[ErrorCode]) -> Value {
    let plain = |description: &str| {
        let text = json!({ "text/plain": { "schema": { "type": "string" } } });
        json!({ "description": description, "content": text })
    };
    let mut responses = json!({
        "200": success,
        "403": plain("The caller is not admitted, or lacks the permission."),
        "404": plain("The run is unknown or hidden, or its view token is missing or wrong."),
        "503": plain("The run history does not answer, or the service is at a limit."),
    });
    for code in codes {
        responses[code.http_status().to_string()] =
            json!({ "$ref": format!("#/components/responses/{}", code.http_status()) });
    }
    responses
}

fn run_id() -> Value {
    let schema =
        json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]+$", "maxLength": RUN_ID_MAX });
    json!({ "name": "id", "in": "path", "required": true, "schema": schema })
}

fn view_token() -> Value {
    json!({
        "name": "t",
        "in": "query",
        "description": "the view token of a live run, as the list of runs links to it; an ended run needs none",
        "required": false,
        "schema": { "type": "string" },
    })
}

fn modes() -> Value {
    json!({ "type": "string", "enum": [StopMode::Soft, StopMode::Hard] })
}

fn request() -> Value {
    let turn = json!({
        "type": "object",
        "properties": { "role": { "type": "string", "enum": ["user", "assistant"] }, "text": { "type": "string" } },
        "required": ["role", "text"],
    });
    json!({
        "type": "object",
        "properties": {
            "text": text("the request or command, as a person would write it"),
            "thread": {
                "type": "string", "minLength": 1, "maxLength": THREAD_NAME_MAX,
                "description": "the conversation; requests of one thread share their history and working tree",
            },
            "channel": {
                "type": "string", "minLength": 1, "maxLength": CHANNEL_NAME_MAX, "pattern": "^[^:]+$",
                "description": "the channel of the thread; a channel that the token pins overrides it",
            },
            "history": { "type": "array", "items": turn, "description": "earlier turns, oldest first" },
            "async": { "type": "boolean", "description": "whether to answer when the run was created" },
        },
        "required": ["text"],
    })
}

fn reply() -> Value {
    let ended = [
        RunStatus::Completed,
        RunStatus::Failed,
        RunStatus::StoppedSoft,
        RunStatus::StoppedHard,
    ];
    json!({
        "type": "object",
        "properties": {
            "reply": { "type": "string", "description": "every reply, joined by a blank line" },
            "run": {
                "type": "object",
                "properties": { "id": { "type": "string" }, "status": { "type": "string", "enum": ended } },
                "required": ["id", "status"],
            },
            "runId": { "type": "string", "description": "the run that another process continues" },
            "code": { "type": "string", "description": "why the request was refused, or its command failed" },
        },
        "required": ["reply"],
    })
}

fn accepted() -> Value {
    json!({
        "type": "object",
        "properties": {
            "runId": { "type": "string" },
            "runUrl": { "type": "string", "description": "the run's page; a path without a public address" },
            "threadKey": { "type": "string" },
        },
        "required": ["runId", "runUrl", "threadKey"],
    })
}

fn ingress_error() -> Value {
    json!({
        "type": "object",
        "properties": {
            "error": { "type": "string", "description": "names fields and never values" },
            "code": { "type": "string" },
            "detail": { "type": "string" },
        },
        "required": ["error"],
    })
}

fn changed(state: &str, more: &[(&str, Value)]) -> Value {
    let mut properties = Map::new();
    properties.insert("id".to_owned(), json!({ "type": "string" }));
    properties.extend(
        more.iter()
            .map(|(name, schema)| ((*name).to_owned(), schema.clone())),
    );
    properties.insert(
        "state".to_owned(),
        json!({ "type": "string", "enum": [state] }),
    );
    let required: Vec<&String> = properties.keys().collect();
    json!({ "type": "object", "required": required, "properties": properties })
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "pattern": "\\S", "description": description })
}

fn content(schema: &str) -> Value {
    json!({ "required": true, "content": { "application/json": { "schema": reference(schema) } } })
}

fn body(description: &str, schema: &str) -> Value {
    json!({ "description": description, "content": { "application/json": { "schema": reference(schema) } } })
}
