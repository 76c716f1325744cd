//! Run events: their kinds, their redaction, and their framing as server-sent events.
//!
//! Not here: the registry that numbers and stores events (`ars-bot-core`), and their diagnosis (`ars-friction`).
#![forbid(unsafe_code)]

mod checkpoint;
mod event;
mod redact;
mod span_sink;
pub mod sse;
mod summary;
mod untrusted;

pub use checkpoint::{checkpoint_in, checkpoint_note};
pub use event::{
    Actor, ActorKind, ArtifactKind, AttachedFile, DiffProvider, Event, EventBody, InputSource,
    MeatTokens, NoteKind, SkillUpstream, SpanStatus, with_attachment_count,
};
pub use redact::{PLACEHOLDER, Redactor, clean, redact, redact_event};
pub use span_sink::{EndedSpan, SpanSink};
pub use summary::{COMMAND_MAX, LABEL_MAX, OUTPUT_MAX, cap, result_summary};
pub use untrusted::{delimit, unwrap_untrusted, wrap_untrusted};
