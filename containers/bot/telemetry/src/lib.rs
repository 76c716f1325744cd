//! The bot's telemetry: log lines on standard error, spans over OTLP, metrics for Prometheus.
//!
//! It serves the facades `tracing` and `metrics`, which every crate may use, and receives ended spans through
//! [`ars_events::SpanSink`]. Not here: the metrics' definitions, a run's own events, reading configuration.
//! See docs/logging.md.
#![forbid(unsafe_code)]

mod clean_span;
mod error;
mod export;
mod fields;
mod lines;
mod names;
mod scrape;
mod settings;
mod spans;
mod start;
#[cfg(test)]
mod tests;

pub use error::{BadEndpoint, Misconfigured, StartError};
pub use export::Endpoint;
pub use scrape::Metrics;
pub use settings::{Settings, Tracing, secrets};
pub use spans::SpanLog;
pub use start::{Level, Telemetry, TelemetryOptions, start};
