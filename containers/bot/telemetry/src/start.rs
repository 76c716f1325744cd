//! Switching it all on for the process, and off at its end.

use std::{sync::Arc, time::Duration};

use ars_events::Redactor;
use thiserror::Error;
use tokio::task::AbortHandle;
use tracing::Subscriber;
use tracing_subscriber::{
    EnvFilter, Layer as _, filter::filter_fn, fmt::MakeWriter, layer::SubscriberExt as _,
};

use crate::{
    ended::{self, SpanLog},
    export::{self, Endpoint, Sending},
    lines::Lines,
    names,
    scrape::{self, Metrics},
};

/// Never logged: it would log bodies of failed streams; the adapter reports them itself, without.
const SILENCED: &str = "genai=off";

/// What is logged when no filter says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// A server's log.
    Everything,
    /// Beside a person's answer: only what broke.
    Errors,
}

/// What to tell, and whom.
#[derive(Debug, Clone)]
pub struct Options {
    /// What is logged without a filter.
    pub level: Level,
    /// A filter in the syntax of `tracing-subscriber`, from `RUST_LOG`. One that cannot be read is not used.
    pub filter: Option<String>,
    /// Which ended spans become a line.
    pub spans: SpanLog,
    /// Where spans are sent, if anywhere.
    pub collector: Option<Endpoint>,
    /// Whether metrics are kept for Prometheus to fetch.
    pub prometheus: bool,
    /// The service's version at the collector.
    pub version: &'static str,
}

impl Options {
    /// Log lines only.
    pub const fn lines(level: Level, filter: Option<String>, version: &'static str) -> Self {
        Self { level, filter, spans: SpanLog::Roots, collector: None, prometheus: false, version }
    }
}

/// Why telemetry could not be switched on. Says no value of any setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum StartError {
    /// The exporter did not take its settings, of which those in the environment are its own to read.
    #[error("the span exporter cannot be set up: check the OTEL_EXPORTER_OTLP_* variables")]
    Exporter,
    /// The bounds of the buckets are wrong, which is a bug.
    #[error("the buckets of the metrics are wrong")]
    Buckets,
}

/// Telemetry under way.
#[must_use = "what waits to be sent is lost without `finish`"]
pub struct Telemetry {
    metrics: Option<Metrics>,
    upkeep: Option<AbortHandle>,
    sending: Option<Sending>,
}

/// Switches it on, once in a process, inside its tokio runtime. From now on lines go to standard error.
pub fn start(redactor: Arc<Redactor>, options: &Options) -> Result<Telemetry, StartError> {
    let (subscriber, sending) = subscriber(Arc::clone(&redactor), options, std::io::stderr)?;
    let metrics = if options.prometheus { Some(record(redactor)?) } else { None };
    let upkeep = metrics.clone().map(|metrics| tokio::spawn(metrics.keep_up()).abort_handle());
    // Only a second call in one process could fail, and there is none.
    let _ = tracing::subscriber::set_global_default(subscriber);
    Ok(Telemetry { metrics, upkeep, sending })
}

fn record(redactor: Arc<Redactor>) -> Result<Metrics, StartError> {
    let (recorder, metrics) = scrape::recorder(redactor)?;
    // As above.
    let _ = ::metrics::set_global_recorder(recorder);
    names::describe();
    Ok(metrics)
}

/// Everything but the switch, for tests to switch on for themselves.
pub(crate) fn subscriber<W>(
    redactor: Arc<Redactor>,
    options: &Options,
    writer: W,
) -> Result<(impl Subscriber + Send + Sync + use<W>, Option<Sending>), StartError>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let (export, sending) = match &options.collector {
        Some(endpoint) => {
            let (export, sending) = export::start(endpoint, options.version, Arc::clone(&redactor))?;
            (Some(export), Some(sending))
        }
        None => (None, None),
    };
    let lines = Lines::new(redactor, options.spans, writer).with_filter(filter(options));
    // What is logged does not decide what is sent.
    let export = export.map(|export| export.with_filter(filter_fn(ended::is_span)));
    Ok((tracing_subscriber::registry().with(lines).with(export), sending))
}

fn filter(options: &Options) -> EnvFilter {
    let default = match options.level {
        Level::Everything => "info",
        Level::Errors => "error",
    };
    let wanted = options.filter.as_deref().unwrap_or(default);
    EnvFilter::try_new(format!("{wanted},{SILENCED}"))
        .unwrap_or_else(|_| EnvFilter::new(format!("{default},{SILENCED}")))
}

impl Telemetry {
    /// What has been measured; none when metrics are not kept.
    pub fn metrics(&self) -> Option<&Metrics> {
        self.metrics.as_ref()
    }

    /// Sends what waits to be sent, for at most so long; false when something was left.
    pub async fn finish(self, limit: Duration) -> bool {
        if let Some(upkeep) = self.upkeep {
            upkeep.abort();
        }
        match self.sending {
            Some(sending) => sending.finish(limit).await,
            None => true,
        }
    }
}
