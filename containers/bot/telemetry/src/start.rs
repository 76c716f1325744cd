//! Starts telemetry for the process, and flushes it at the end.

use std::{sync::Arc, time::Duration};

use ars_events::{Redactor, SpanSink};
use tokio::task::AbortHandle;
use tracing::Subscriber;
use tracing_subscriber::{EnvFilter, Layer as _, fmt::MakeWriter, layer::SubscriberExt as _};

use crate::{
    error::StartError,
    export::{self, Endpoint, Sending},
    lines::Lines,
    names,
    scrape::{self, Metrics},
    spans::{SpanLog, Spans},
};

/// Always silenced, because that log contains bodies from failed streams. The adapter reports those
/// failures without bodies.
const SILENCED: &str = "genai=off";

/// The log's level without a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Logs as a server does.
    Everything,
    /// Errors only, for a command with a person in front.
    Errors,
}

/// Options for telemetry.
#[derive(Debug, Clone)]
pub struct TelemetryOptions {
    /// The level without a filter.
    pub level: Level,
    /// A filter in `tracing-subscriber` syntax, from `RUST_LOG`. An invalid filter is ignored.
    pub filter: Option<String>,
    /// Which ended spans become a line.
    pub spans: SpanLog,
    /// The span collector, if any.
    pub collector: Option<Endpoint>,
    /// Whether metrics are recorded for Prometheus.
    pub prometheus: bool,
    /// The service's version at the collector.
    pub version: &'static str,
}

impl TelemetryOptions {
    /// Returns options for log lines only.
    pub const fn lines(level: Level, filter: Option<String>, version: &'static str) -> Self {
        Self {
            level,
            filter,
            spans: SpanLog::Roots,
            collector: None,
            prometheus: false,
            version,
        }
    }
}

/// Telemetry that is running.
#[must_use = "pending spans are lost without `finish`"]
pub struct Telemetry {
    metrics: Option<Metrics>,
    upkeep: Option<AbortHandle>,
    sending: Option<Sending>,
    span_sink: Option<Box<dyn SpanSink>>,
}

/// Starts telemetry, once in a process, inside the tokio runtime. Lines go to standard error.
pub fn start(redactor: Arc<Redactor>, options: &TelemetryOptions) -> Result<Telemetry, StartError> {
    let (subscriber, spans, sending) = subscriber(Arc::clone(&redactor), options, std::io::stderr)?;
    let metrics = if options.prometheus {
        Some(record(redactor)?)
    } else {
        None
    };
    let upkeep = metrics
        .clone()
        .map(|metrics| tokio::spawn(metrics.keep_up()).abort_handle());
    // Fails only for a second call in the same process, and there is none.
    let _ = tracing::subscriber::set_global_default(subscriber);
    let span_sink = spans
        .is_active()
        .then(|| Box::new(spans) as Box<dyn SpanSink>);
    Ok(Telemetry {
        metrics,
        upkeep,
        sending,
        span_sink,
    })
}

fn record(redactor: Arc<Redactor>) -> Result<Metrics, StartError> {
    let (recorder, metrics) = scrape::recorder(redactor)?;
    // Fails only for a second call, as above.
    let _ = ::metrics::set_global_recorder(recorder);
    names::describe();
    Ok(metrics)
}

/// Makes the subscriber, the span sink and the sender, without installing them globally.
pub(crate) fn subscriber<W>(
    redactor: Arc<Redactor>,
    options: &TelemetryOptions,
    writer: W,
) -> Result<
    (
        impl Subscriber + Send + Sync + use<W>,
        Spans<W>,
        Option<Sending>,
    ),
    StartError,
>
where
    W: for<'w> MakeWriter<'w> + Clone + Send + Sync + 'static,
{
    let (export, sending) = match &options.collector {
        Some(endpoint) => {
            let (export, sending) = export::start(endpoint, options.version)?;
            (Some(export), Some(sending))
        }
        None => (None, None),
    };
    let lines = Lines::new(Arc::clone(&redactor), writer);
    let spans = Spans::new(redactor, options.spans, lines.clone(), export);
    Ok((
        tracing_subscriber::registry().with(lines.with_filter(filter(options))),
        spans,
        sending,
    ))
}

fn filter(options: &TelemetryOptions) -> EnvFilter {
    let default = match options.level {
        Level::Everything => "info",
        Level::Errors => "error",
    };
    let wanted = options.filter.as_deref().unwrap_or(default);
    EnvFilter::try_new(format!("{wanted},{SILENCED}"))
        .unwrap_or_else(|_| EnvFilter::new(format!("{default},{SILENCED}")))
}

impl Telemetry {
    /// Returns the metrics; `None` when they are not recorded.
    pub fn metrics(&self) -> Option<&Metrics> {
        self.metrics.as_ref()
    }

    /// Takes the sink for ended spans; `None` when no span is logged or sent.
    pub fn take_span_sink(&mut self) -> Option<Box<dyn SpanSink>> {
        self.span_sink.take()
    }

    /// Sends the pending spans; returns `false` when `limit` passed first.
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
