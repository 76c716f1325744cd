//! Describes the HTTP interface in `OpenAPI` 3.1.
//!
//! Command routes are described by their definitions; the other operations are in `requests`.

use ars_bot_core::commands::Commands;
use ars_commands::Surface;
use serde_json::{Map, Value, json};

use super::{operation, requests, schemas::Schemas};
use crate::state::HttpState;

/// The `OpenAPI` version, which uses JSON Schema 2020-12.
const VERSION: &str = "3.1.1";

/// Returns the description for this installation's routes.
pub(super) fn document(state: &HttpState, commands: &Commands) -> Value {
    let mut schemas = Schemas::default();
    schemas.add(operation::ERROR, operation::error_schema());
    let mut paths = Map::new();
    requests::add(&mut paths, &mut schemas);
    for definition in commands.registry().on(Surface::Api) {
        let output = commands.output_schema(definition.id).unwrap_or_default();
        let item = operation::path_item(definition, output, &mut schemas);
        paths.insert(format!("/api/{}", definition.id), item);
    }
    let base = state
        .core
        .settings()
        .public_base_url
        .as_deref()
        .map(|url| url.trim_end_matches('/'));
    let server = base.filter(|url| !url.is_empty()).unwrap_or("/");
    json!({
        "openapi": VERSION,
        "info": {
            "title": "Agent Request Service",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Requests, runs and commands over HTTP. Free text of requests, tools and memory is fenced as untrusted.",
        },
        "servers": [{ "url": server }],
        "security": security(state.dashboard.mode()),
        "paths": paths,
        "components": {
            "schemas": schemas.into_value(),
            "responses": operation::error_responses(),
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer", "description": "The dashboard's secret." },
                requests::INGRESS: {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token of `SERVICE_INGRESS_TOKENS`.",
                },
                "access": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "Cf-Access-Jwt-Assertion",
                    "description": "The access proxy adds it to the requests of sessions and service tokens.",
                },
            },
        },
    })
}

/// Returns the credential that a dashboard gate mode needs. Callers on this machine need none.
fn security(mode: &str) -> Value {
    match mode {
        "token" => json!([{ "token": [] }]),
        "access" => json!([{ "access": [] }]),
        _ => json!([]),
    }
}
