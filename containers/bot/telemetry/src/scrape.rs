//! Metrics in Prometheus's format.
//! Not here: the route (`ars-bot-http`), which exists only when metrics are enabled.

use std::{sync::Arc, time::Duration};

use ars_events::Redactor;
use metrics_exporter_prometheus::{
    Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder,
};
use tokio::time::MissedTickBehavior;

use crate::error::StartError;

/// Bounds for every histogram in seconds: from a local store to a run's longest time budget.
const SECONDS: [f64; 16] = [
    0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0,
];
/// How often recorded times are moved to their buckets; until then each occupies memory.
const UPKEEP_EVERY: Duration = Duration::from_secs(5);

/// The recorded metrics. Cheap to clone.
#[derive(Clone)]
pub struct Metrics {
    handle: PrometheusHandle,
    redactor: Arc<Redactor>,
}

impl Metrics {
    /// Media type for the result of `render`.
    pub const CONTENT_TYPE: &'static str = "text/plain; version=0.0.4; charset=utf-8";

    /// Returns all metrics in Prometheus's text format.
    /// Labels come from closed sets; the redactor is a second safeguard, as for every output.
    pub fn render(&self) -> String {
        self.redactor.redact(&self.handle.render()).into_owned()
    }

    /// Keeps memory constant while it is awaited.
    pub(crate) async fn keep_up(self) {
        let mut ticks = tokio::time::interval(UPKEEP_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.handle.run_upkeep();
        }
    }
}

/// Makes a recorder, which is not installed yet, and the metrics.
pub(crate) fn recorder(
    redactor: Arc<Redactor>,
) -> Result<(PrometheusRecorder, Metrics), StartError> {
    let builder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &SECONDS)
        .map_err(|_| StartError::Buckets)?;
    let recorder = builder.build_recorder();
    let handle = recorder.handle();
    Ok((recorder, Metrics { handle, redactor }))
}
