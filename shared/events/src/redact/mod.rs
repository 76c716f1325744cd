//! Removes secrets from all text that is shown or stored (docs/reference/events.md#redaction).
//!
//! The order is fixed: strip control sequences, redact, cut. Cutting first could leave half a
//! secret, which matches no shape.
//!
//! Not here: delimiters around text from outside (`untrusted`).

mod assignments;
mod control;
mod events;
mod placeholder;
mod redactor;
mod shapes;
mod vendors;

pub use events::redact_event;
pub use placeholder::PLACEHOLDER;
pub use redactor::{Redactor, clean, redact};

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
