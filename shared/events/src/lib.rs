//! Run events: what a run says while it works, how it is made safe to show, and how it is framed.
//!
//! Not here: the registry that numbers and stores events (`ars-bot-core`), and their diagnosis (`ars-friction`).
//! Implements document 1 section 6 and bot supplement sections 9, 10 and 11.3.
#![forbid(unsafe_code)]

mod event;
mod redact;
mod span_line;
pub mod sse;
mod summary;
mod untrusted;

pub use event::{
    Actor, ActorKind, ArtifactKind, DiffProvider, Event, EventBody, InputSource, MeatTokens, NoteKind,
    SkillUpstream, SpanStatus,
};
pub use redact::{PLACEHOLDER, Redactor, clean, redact, redact_event};
pub use span_line::SPAN_TARGET;
pub use summary::{COMMAND_MAX, LABEL_MAX, OUTPUT_MAX, cap, result_summary};
pub use untrusted::{fence, wrap_untrusted};
