//! Ended spans to a collector, over OTLP with protobuf (opentelemetry.io/docs/specs/otlp).
//!
//! The SDK's batch processor queues and batches. Not here: metrics, which Prometheus fetches.

mod convert;
mod endpoint;
mod exporter;
mod queue;

pub use self::endpoint::Endpoint;
pub(crate) use self::endpoint::header_secrets;
pub(crate) use queue::{Export, Sending, start};
