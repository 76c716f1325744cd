//! Why telemetry cannot start. No error holds a setting's value: a key may have been pasted there.

use thiserror::Error;

/// An error when telemetry starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum StartError {
    /// The exporter rejected the settings; it reads those in the environment itself.
    #[error("the span exporter cannot be set up: check the OTEL_EXPORTER_OTLP_* variables")]
    Exporter,
    /// The histogram bounds are wrong, which is a bug.
    #[error("the buckets of the metrics are wrong")]
    Buckets,
}

/// A setting that cannot be used. Names the setting, never the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{key} {problem}")]
pub struct Misconfigured {
    /// The key or variable.
    pub key: &'static str,
    /// The problem with the value.
    pub problem: BadEndpoint,
}

/// An address that cannot be a collector's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BadEndpoint {
    /// Not an absolute HTTP URL.
    #[error("must be a URL that begins with http:// or https://")]
    NotHttp,
    /// Contains credentials, which belong into `OTEL_EXPORTER_OTLP_HEADERS`.
    #[error("must not carry a user or a password: credentials go into OTEL_EXPORTER_OTLP_HEADERS")]
    Credentials,
    /// Has a query or a fragment, after which no path can be appended.
    #[error("must end with a path, without a query or a fragment")]
    Query,
}
