//! The OTLP exporter for the batch processor: batches run on the bot's runtime, losses are counted.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use metrics::counter;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::{
    error::OTelSdkResult,
    trace::{SpanData, SpanExporter as Exporter},
};
use tokio::{runtime::Handle, time::timeout};

use crate::names;

/// Timeout for a batch, retries included (OTLP's default).
pub(super) const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// Exports batches and counts those that fail.
#[derive(Debug)]
pub(super) struct CountingExporter {
    inner: Arc<SpanExporter>,
    runtime: Handle,
    /// Spans that are queued or in a request.
    pending: Arc<AtomicUsize>,
    /// Spans lost since the last batch that succeeded.
    lost: Arc<AtomicU64>,
}

impl CountingExporter {
    /// Wraps an exporter. Must be called inside a tokio runtime.
    pub(super) fn new(inner: SpanExporter, pending: Arc<AtomicUsize>) -> Self {
        Self {
            inner: Arc::new(inner),
            runtime: Handle::current(),
            pending,
            lost: Arc::default(),
        }
    }
}

impl Exporter for CountingExporter {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        let inner = Arc::clone(&self.inner);
        let lost = Arc::clone(&self.lost);
        // The processor's thread has no reactor, which the HTTP client needs.
        let request = self.runtime.spawn(async move {
            // The exporter limits its retries, but not a request in flight.
            match timeout(EXPORT_TIMEOUT, inner.export(batch)).await {
                Ok(Ok(())) => succeeded(&lost),
                Ok(Err(error)) => failed(&lost, spans, &error.to_string()),
                Err(_elapsed) => failed(&lost, spans, "the collector did not answer in time"),
            }
        });
        // Fails only while the runtime shuts down, when metrics are no longer read.
        let _ = request.await;
        self.pending.fetch_sub(spans, Ordering::Relaxed);
        Ok(())
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }
}

fn succeeded(lost: &AtomicU64) {
    let lost = lost.swap(0, Ordering::Relaxed);
    if lost > 0 {
        tracing::info!(lost, "span export works again");
    }
}

/// Counts a lost batch, and logs only the first in a row, so that an outage does not flood the log.
fn failed(lost: &AtomicU64, spans: usize, error: &str) {
    let spans = spans as u64;
    counter!(names::SPANS_DROPPED, "reason" => "export").increment(spans);
    counter!(names::BATCHES_DROPPED).increment(1);
    if lost.fetch_add(spans, Ordering::Relaxed) == 0 {
        tracing::warn!(
            error,
            "span export failed; the next line about it follows when it works again"
        );
    }
}
