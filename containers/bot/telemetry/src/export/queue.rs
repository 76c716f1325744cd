//! Queues spans in front of the exporter.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use metrics::counter;
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::{
    Resource,
    trace::{BatchConfigBuilder, BatchSpanProcessor, SpanExporter as _, SpanProcessor as _},
};
use reqwest::redirect;

use super::{
    convert::span_data,
    endpoint::Endpoint,
    exporter::{CountingExporter, EXPORT_TIMEOUT},
};
use crate::{clean_span::CleanSpan, error::StartError, names};

/// Maximum spans queued or in a request; further spans are dropped (OpenTelemetry's default).
const MAX_PENDING: usize = 2_048;
/// Maximum spans in a request (OpenTelemetry's default).
const MAX_BATCH: usize = 512;
/// How often an incomplete batch is sent.
const BATCH_INTERVAL: Duration = Duration::from_secs(1);
/// The service's name at the collector.
const SERVICE: &str = "ars";

/// Queues ended spans for the collector.
pub(crate) struct Export {
    processor: Arc<BatchSpanProcessor>,
    scope: InstrumentationScope,
    pending: Arc<AtomicUsize>,
}

/// The running batch processor.
pub(crate) struct Sending(Arc<BatchSpanProcessor>);

/// Starts the batch processor. Must be called inside a tokio runtime.
pub(crate) fn start(
    endpoint: &Endpoint,
    version: &'static str,
) -> Result<(Export, Sending), StartError> {
    let client = reqwest::Client::builder()
        // Headers with credentials go to the configured collector and nowhere else.
        .redirect(redirect::Policy::none())
        .timeout(EXPORT_TIMEOUT)
        .build()
        .map_err(|_| StartError::Exporter)?;
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(client)
        .with_endpoint(endpoint.traces())
        .with_timeout(EXPORT_TIMEOUT)
        .build();
    // The exporter's error may quote environment variable values, so it is not passed on.
    let mut exporter = exporter.map_err(|_| StartError::Exporter)?;
    let service = [
        KeyValue::new("service.name", SERVICE),
        KeyValue::new("service.version", version),
    ];
    exporter.set_resource(&Resource::builder_empty().with_attributes(service).build());
    let pending = Arc::new(AtomicUsize::new(0));
    let config = BatchConfigBuilder::default()
        .with_max_queue_size(MAX_PENDING)
        .with_max_export_batch_size(MAX_BATCH)
        .with_scheduled_delay(BATCH_INTERVAL)
        .build();
    let exporter = CountingExporter::new(exporter, Arc::clone(&pending));
    let processor = Arc::new(BatchSpanProcessor::new(exporter, config));
    let scope = InstrumentationScope::builder(SERVICE)
        .with_version(version)
        .build();
    Ok((
        Export {
            processor: Arc::clone(&processor),
            scope,
            pending,
        },
        Sending(processor),
    ))
}

impl Export {
    /// Queues a span, or drops and counts it when too many are pending. Never waits.
    pub(crate) fn enqueue(&self, span: CleanSpan) {
        // The processor does not report the spans it drops, so the limit is applied before it.
        if self.pending.fetch_add(1, Ordering::Relaxed) >= MAX_PENDING {
            self.pending.fetch_sub(1, Ordering::Relaxed);
            counter!(names::SPANS_DROPPED, "reason" => "queue").increment(1);
            return;
        }
        self.processor.on_end(span_data(span, &self.scope));
    }
}

impl Sending {
    /// Sends the pending spans and shuts the processor down; returns `false` when `limit` passed first.
    pub(crate) async fn finish(self, limit: Duration) -> bool {
        // The processor blocks while the thread sends, and sending needs this runtime.
        let shutdown = tokio::task::spawn_blocking(move || self.0.shutdown_with_timeout(limit));
        matches!(shutdown.await, Ok(Ok(())))
    }
}
