//! The protocol's official Python client, conformance suite and inspector against the real core and router, with a
//! scripted model.
#![expect(clippy::unwrap_used, reason = "a test")]

mod conformance;
mod inspector;
mod python;
#[expect(dead_code, reason = "a double of the HTTP tests, which use the rest of it")]
#[path = "../../../../containers/bot/http/tests/http/support.rs"]
mod support;
