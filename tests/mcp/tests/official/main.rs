//! The protocol's official clients against the real core and router, with a scripted model.

mod python;
#[expect(dead_code, reason = "a double of the HTTP tests, which use the rest of it")]
#[path = "../../../../containers/bot/http/tests/http/support.rs"]
mod support;
