//! Decisions and texts for Slack (docs/reference/slack.md): events, markup, cards, files, catch-up.
//!
//! Pure: no clock, no I/O, no HTTP client. Every parser accepts arbitrary input: a value with an unexpected type
//! counts as missing, because Slack adds fields and kinds at any time. Not here: the adapter that calls Slack.
#![forbid(unsafe_code)]

pub mod card;
pub mod catch_up;
pub mod confirm;
pub mod event;
pub mod files;
pub mod manifest;
pub mod markup;
pub mod text;

mod permalink;
mod ts;

pub use permalink::permalink;
pub use ts::Ts;
