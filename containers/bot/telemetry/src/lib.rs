//! What the bot tells its operators: log lines on standard error, spans over OTLP, metrics for Prometheus.
//!
//! It listens to the facades `tracing` and `metrics`, which every crate may use, and knows none of those crates. Not
//! here: what is measured (`ars_bot_ports::metrics`), a run's own events, reading configuration.
//! Implements bot supplement sections 10 (log lines) and 24, and docs/logging.md.
#![forbid(unsafe_code)]

mod ended;
mod export;
mod fields;
mod lines;
mod names;
mod scrape;
mod settings;
mod start;
#[cfg(test)]
mod tests;

pub use ended::SpanLog;
pub use export::{BadEndpoint, Endpoint};
pub use scrape::Metrics;
pub use settings::{Misconfigured, Settings, Tracing, secrets};
pub use start::{Level, Options, StartError, Telemetry, start};
