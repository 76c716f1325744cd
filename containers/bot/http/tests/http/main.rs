//! The HTTP surface over real connections (docs/testing.md, layer 4): a single binary, a file per
//! subject.

mod access;
mod admin;
mod api;
mod audit;
#[expect(clippy::unwrap_used, reason = "a double of the core's tests")]
#[path = "../../../core/tests/core/support/audit.rs"]
mod audit_lines;
mod authorization;
mod cases;
#[expect(
    dead_code,
    clippy::unwrap_used,
    reason = "a double of the core's tests, which use the rest of it"
)]
#[path = "../../../core/tests/core/support/code_host.rs"]
mod code_host;
#[expect(
    clippy::unwrap_used,
    reason = "a double that cannot go on fails its test"
)]
mod fleet;
mod gate;
mod idempotency;
mod ingress;
mod limits;
mod load;
mod mcp;
mod mcp_envelope;
mod mcp_stateless;
#[expect(clippy::unwrap_used, reason = "a double of the core's tests")]
#[path = "../../../core/tests/core/support/residents.rs"]
mod memory_residents;
mod metrics;
mod pages;
mod probe;
mod remote_runs;
mod residents;
mod run_page;
#[expect(
    dead_code,
    clippy::unwrap_used,
    reason = "a double of the core's tests, which use the rest of it"
)]
#[path = "../../../core/tests/core/support/ledger.rs"]
mod scripted_ledger;
mod streams;
mod support;
mod wire;
