//! How an ended span travels from the code that ends it to the log and the collector (bot supplement section 24).
//!
//! A contract of two crates that do not know each other: the core says it through the facade `tracing`
//! (`ars_bot_ports::trace`), `ars-bot-telemetry` listens. Not here: the stream, which has the span's events anyway.

/// The `tracing` target of ended spans. Such an event has the fields `run` (the run's id), `trace` (32 hexadecimal
/// digits) and `span` (the JSON of an `EventBody::SpanEnd`).
pub const SPAN_TARGET: &str = "ars::span";
