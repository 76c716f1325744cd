//! Ended spans to a collector, over OTLP with protobuf (opentelemetry.io/docs/specs/otlp).
//!
//! A layer that only hands over, and a task that sends. Not here: metrics, which Prometheus fetches.

mod convert;
mod endpoint;
mod worker;

use std::{sync::Arc, time::Duration};

use ars_events::Redactor;
use metrics::counter;
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::{Resource, trace::SpanExporter as _};
use reqwest::redirect;
use tokio::{sync::mpsc, task::JoinHandle, time::timeout};
use tokio_util::sync::CancellationToken;
use tracing::{Event, Subscriber};
use tracing_subscriber::{Layer, layer::Context};

use crate::{
    StartError,
    ended::{Ended, Told},
    names,
};

pub(crate) use self::endpoint::header_secrets;
pub use self::endpoint::{BadEndpoint, Endpoint};

/// Spans that wait to be sent; more are dropped (the default of OpenTelemetry's batch processor).
const QUEUE: usize = 2_048;
/// How long a batch may take, with its retries (the default of OTLP).
const EXPORT_LIMIT: Duration = Duration::from_secs(10);
/// The service's name at the collector.
const SERVICE: &str = "ars";

/// Hands ended spans over.
pub(crate) struct Export {
    redactor: Arc<Redactor>,
    queue: mpsc::Sender<Ended>,
}

/// The task that sends.
pub(crate) struct Sending {
    task: JoinHandle<()>,
    end: CancellationToken,
}

/// Starts the task. Must be called inside a tokio runtime.
pub(crate) fn start(
    endpoint: &Endpoint,
    version: &'static str,
    redactor: Arc<Redactor>,
) -> Result<(Export, Sending), StartError> {
    let client = reqwest::Client::builder()
        // Headers with credentials go to the configured collector and nowhere else.
        .redirect(redirect::Policy::none())
        .timeout(EXPORT_LIMIT)
        .build()
        .map_err(|_| StartError::Exporter)?;
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(client)
        .with_endpoint(endpoint.traces())
        .with_timeout(EXPORT_LIMIT)
        .build();
    // Its error may quote the environment's variables; which are wrong is found without their values.
    let mut exporter = exporter.map_err(|_| StartError::Exporter)?;
    let service = [KeyValue::new("service.name", SERVICE), KeyValue::new("service.version", version)];
    exporter.set_resource(&Resource::builder_empty().with_attributes(service).build());
    let scope = InstrumentationScope::builder(SERVICE).with_version(version).build();
    let (sender, receiver) = mpsc::channel(QUEUE);
    let end = CancellationToken::new();
    let task = tokio::spawn(worker::run(receiver, exporter, scope, end.clone()));
    Ok((Export { redactor, queue: sender }, Sending { task, end }))
}

impl<S: Subscriber> Layer<S> for Export {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let Some(span) = Told::read(event).and_then(|told| told.clean(&self.redactor)) else { return };
        if self.queue.try_send(span).is_err() {
            counter!(names::SPANS_DROPPED, "reason" => "queue").increment(1);
        }
    }
}

impl Sending {
    /// Sends what waits and ends the task; false when `limit` passed first, and what was left is lost.
    pub(crate) async fn finish(mut self, limit: Duration) -> bool {
        self.end.cancel();
        let done = timeout(limit, &mut self.task).await.is_ok();
        self.task.abort();
        done
    }
}
