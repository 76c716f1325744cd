//! The form in which an ended span reaches the log and the collector (docs/reference/telemetry.md#spans).
//!
//! A contract between two independent crates: the core emits spans through the facade `tracing`
//! (`ars_bot_ports::trace`) and `ars-bot-telemetry` subscribes to them. Not here: span events of the stream.

/// The `tracing` target of ended spans. Its events have the fields `run` (the run's id), `trace` (32 hexadecimal
/// digits) and `span` (the JSON of an `EventBody::SpanEnd`).
pub const SPAN_TARGET: &str = "ars::span";
