//! Telemetry metrics; those of the bot are in `ars_bot_ports::metrics`.

use metrics::{counter, describe_counter};

/// Spans that did not reach the collector.
pub(crate) const SPANS_DROPPED: &str = "ars_telemetry_spans_dropped_total";
/// Requests that the collector did not accept.
pub(crate) const BATCHES_DROPPED: &str = "ars_telemetry_batches_dropped_total";

/// Describes the metrics and sets them to zero, because an alert compares with the value before.
pub(crate) fn describe() {
    describe_counter!(
        SPANS_DROPPED,
        "Spans that did not reach the collector, by reason: the queue was full, or a request failed"
    );
    describe_counter!(
        BATCHES_DROPPED,
        "Requests with spans that the collector did not take"
    );
    for reason in ["queue", "export"] {
        counter!(SPANS_DROPPED, "reason" => reason).absolute(0);
    }
    counter!(BATCHES_DROPPED).absolute(0);
}
