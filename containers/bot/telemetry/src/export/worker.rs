//! The task that sends spans: collects them into batches, and never keeps a run waiting.
//!
//! A full queue and a batch that the collector did not take are counted, and told once until it works again.

use std::time::Duration;

use metrics::counter;
use opentelemetry::InstrumentationScope;
use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::trace::SpanExporter as _;
use tokio::{sync::mpsc, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{EXPORT_LIMIT, convert::span_data};
use crate::{ended::Ended, names};

/// Most spans of one request (the default of OpenTelemetry's batch processor).
const BATCH: usize = 512;
/// How long the first span of a batch waits for others.
const LINGER: Duration = Duration::from_secs(1);

/// Sends what comes until `end` fires, then what is left.
pub(super) async fn run(
    mut queue: mpsc::Receiver<Ended>,
    exporter: SpanExporter,
    scope: InstrumentationScope,
    end: CancellationToken,
) {
    let mut lost = 0;
    loop {
        let batch = next_batch(&mut queue, &end).await;
        if batch.is_empty() {
            return;
        }
        let spans = batch.len() as u64;
        let batch = batch.into_iter().map(|span| span_data(span, &scope)).collect();
        // The exporter bounds its retries, not a request under way.
        match timeout(EXPORT_LIMIT, exporter.export(batch)).await {
            Ok(Ok(())) => {
                if lost > 0 {
                    tracing::info!(lost, "spans are exported again");
                }
                lost = 0;
            }
            Ok(Err(error)) => failed(&mut lost, spans, &error.to_string()),
            Err(_elapsed) => failed(&mut lost, spans, "the collector did not answer in time"),
        }
    }
}

fn failed(lost: &mut u64, spans: u64, error: &str) {
    counter!(names::SPANS_DROPPED, "reason" => "export").increment(spans);
    counter!(names::BATCHES_DROPPED).increment(1);
    if *lost == 0 {
        tracing::warn!(error, "spans are not exported; told again when they are");
    }
    *lost += spans;
}

/// What came within the time to wait; nothing once the queue is closed and empty.
async fn next_batch(queue: &mut mpsc::Receiver<Ended>, end: &CancellationToken) -> Vec<Ended> {
    let mut batch = Vec::new();
    tokio::select! {
        _ = queue.recv_many(&mut batch, BATCH) => {}
        () = end.cancelled(), if !queue.is_closed() => queue.close(),
    }
    if batch.is_empty() && !queue.is_empty() {
        queue.recv_many(&mut batch, BATCH).await;
    }
    let lingered = tokio::time::sleep(LINGER);
    tokio::pin!(lingered);
    while !batch.is_empty() && batch.len() < BATCH {
        let room = BATCH - batch.len();
        tokio::select! {
            more = queue.recv_many(&mut batch, room) => if more == 0 { break },
            () = &mut lingered => break,
            () = end.cancelled(), if !queue.is_closed() => queue.close(),
        }
    }
    batch
}
