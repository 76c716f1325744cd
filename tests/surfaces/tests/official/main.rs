//! Official clients and tools against `ars serve` as a process. These are the Python client, the
//! conformance suite and the inspector for MCP, and schemathesis for the command routes.
#![expect(clippy::unwrap_used, reason = "a test")]

mod mcp;
mod openapi;
