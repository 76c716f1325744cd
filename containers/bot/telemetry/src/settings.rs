//! Telemetry configuration: two tables in the file, and environment variables.
//!
//! Not here: reading the file and the environment.

use serde::Deserialize;

use crate::{
    error::Misconfigured,
    export::{Endpoint, header_secrets},
    spans::SpanLog,
    start::{Level, TelemetryOptions},
};

/// The collector's base address, as OpenTelemetry names it; wins over the file.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// Headers for requests to the collector. The exporter reads them itself; they contain secrets.
const HEADERS: [&str; 2] = [
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
];
/// Variable with the log's filter.
const FILTER: &str = "RUST_LOG";

/// Settings in the `[telemetry]` table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Settings {
    /// Base address for an OTLP collector, such as `http://127.0.0.1:4318`. Without it no span is
    /// sent.
    #[serde(alias = "otlp_endpoint")]
    pub otlp_endpoint: Option<String>,
    /// Whether `GET /metrics` shows metrics.
    pub prometheus: bool,
}

/// Settings in the `[tracing]` table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tracing {
    /// Which ended spans become a log line: `roots` or `slow`.
    pub log: SpanLog,
}

impl TelemetryOptions {
    /// Returns a server's options. `variable` returns an environment variable that is set and not blank.
    pub fn configured(
        settings: &Settings,
        tracing: Tracing,
        variable: impl Fn(&str) -> Option<String>,
        version: &'static str,
    ) -> Result<Self, Misconfigured> {
        let (key, address) = match variable(ENDPOINT) {
            Some(address) => (ENDPOINT, Some(address)),
            None => ("telemetry.otlpEndpoint", settings.otlp_endpoint.clone()),
        };
        let endpoint = address.map(|address| Endpoint::parse(&address)).transpose();
        Ok(Self {
            level: Level::Everything,
            filter: variable(FILTER),
            spans: tracing.log,
            collector: endpoint.map_err(|problem| Misconfigured { key, problem })?,
            prometheus: settings.prometheus,
            version,
        })
    }
}

/// Returns the secrets in the exporter's variables, for the redactor.
pub fn secrets(variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let headers = HEADERS.iter().filter_map(|name| variable(name));
    headers
        .flat_map(|headers| header_secrets(&headers))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn settings(value: Value) -> Settings {
        serde_json::from_value(value).unwrap()
    }

    fn nothing(_: &str) -> Option<String> {
        None
    }

    #[test]
    fn default_is_lines_only() {
        let options =
            TelemetryOptions::configured(&Settings::default(), Tracing::default(), nothing, "1")
                .unwrap();
        assert_eq!(
            (options.collector, options.prometheus, options.spans),
            (None, false, SpanLog::Roots)
        );
    }

    #[test]
    fn environment_collector_wins() {
        let settings = settings(json!({ "otlp_endpoint": "http://file:4318" }));
        let of = |variable: fn(&str) -> Option<String>| {
            TelemetryOptions::configured(&settings, Tracing::default(), variable, "1")
                .unwrap()
                .collector
        };
        assert_eq!(of(nothing), Endpoint::parse("http://file:4318").ok());
        let env = |name: &str| (name == ENDPOINT).then(|| "http://env:4318".to_owned());
        assert_eq!(of(env), Endpoint::parse("http://env:4318").ok());
    }

    #[test]
    fn invalid_address_error_names_the_setting() {
        let settings = settings(json!({ "otlp_endpoint": "sk-ant-canary-1234" }));
        let of = |variable: fn(&str) -> Option<String>| {
            TelemetryOptions::configured(&settings, Tracing::default(), variable, "1")
                .unwrap_err()
                .to_string()
        };
        let problem = "must be a URL that begins with http:// or https://";
        assert_eq!(of(nothing), format!("telemetry.otlpEndpoint {problem}"));
        let env = |name: &str| (name == ENDPOINT).then(|| "canary".to_owned());
        assert_eq!(of(env), format!("{ENDPOINT} {problem}"));
    }

    #[test]
    fn unknown_keys_are_rejected() {
        assert!(serde_json::from_value::<Settings>(json!({ "otlp": "x" })).is_err());
        assert!(serde_json::from_value::<Tracing>(json!({ "log": "all" })).is_err());
        let slow: Tracing = serde_json::from_value(json!({ "log": "slow" })).unwrap();
        assert_eq!(slow.log, SpanLog::Slow);
    }

    #[test]
    fn collector_headers_are_secrets() {
        let variable = |name: &str| (name == HEADERS[0]).then(|| "x-key=canary-1234".to_owned());
        assert_eq!(secrets(variable)[0], "canary-1234");
        assert!(secrets(nothing).is_empty());
    }
}
