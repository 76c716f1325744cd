//! Tests the code host adapter against the fake GitHub.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod clones;
mod credentials;
mod faults;
mod flows;
mod reads;
mod support;
mod tools;
