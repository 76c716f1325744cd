//! Metrics as Prometheus fetches them. Not here: the route (`ars-bot-http`), which exists only when this is enabled.

use std::{sync::Arc, time::Duration};

use ars_events::Redactor;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder};
use tokio::time::MissedTickBehavior;

use crate::error::StartError;

/// Bounds of every time's buckets, in seconds: from a store on this machine to a run's longest time budget.
const SECONDS: [f64; 16] =
    [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0];
/// How often recorded times are sorted into their buckets when nobody fetches them; until then each takes memory.
const UPKEEP_EVERY: Duration = Duration::from_secs(5);

/// What has been measured. Cheap to clone.
#[derive(Clone)]
pub struct Metrics {
    handle: PrometheusHandle,
    redactor: Arc<Redactor>,
}

impl Metrics {
    /// The media type of what `render` gives.
    pub const CONTENT_TYPE: &'static str = "text/plain; version=0.0.4; charset=utf-8";

    /// Everything, in Prometheus's text format. Labels come from closed sets; the redactor stands behind them as it
    /// does behind every other way out.
    pub fn render(&self) -> String {
        self.redactor.redact(&self.handle.render()).into_owned()
    }

    /// Keeps memory flat for as long as it is awaited.
    pub(crate) async fn keep_up(self) {
        let mut ticks = tokio::time::interval(UPKEEP_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.handle.run_upkeep();
        }
    }
}

/// A recorder that is not the process's yet, and what it records.
pub(crate) fn recorder(redactor: Arc<Redactor>) -> Result<(PrometheusRecorder, Metrics), StartError> {
    let builder = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &SECONDS)
        .map_err(|_| StartError::Buckets)?;
    let recorder = builder.build_recorder();
    let handle = recorder.handle();
    Ok((recorder, Metrics { handle, redactor }))
}
