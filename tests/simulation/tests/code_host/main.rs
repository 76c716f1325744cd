//! Coding and review runs against the fake code host, with a scripted model.
//!
//! Core, adapters, git and the sandbox are real.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a double that cannot go on fails its test"
)]

mod changes;
mod claims;
mod continued;
mod crashes;
mod friction;
mod hostile;
#[path = "../../../../containers/bot/adapters/tests/residents/onboard.rs"]
mod onboarding;
mod processes;
mod residents;
mod reviews;
mod support;
mod webhooks;
