//! Tests metrics in Prometheus's format.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use ars_events::Redactor;
use metrics::{counter, describe_counter, gauge, histogram};

use crate::scrape::recorder;

/// Returns the rendered metrics after `happen`.
fn rendered(redactor: Redactor, happen: impl FnOnce()) -> String {
    let (recorder, metrics) = recorder(Arc::new(redactor)).unwrap();
    metrics::with_local_recorder(&recorder, happen);
    metrics.render()
}

/// Parses Prometheus's text format; fails on an invalid line.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let mut samples = BTreeMap::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some(comment) = line.strip_prefix("# ") {
            let words: Vec<_> = comment.splitn(3, ' ').collect();
            assert!(
                words.len() == 3 && ["HELP", "TYPE"].contains(&words[0]),
                "{line}"
            );
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
        let name = series.split('{').next().unwrap();
        assert!(
            name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'),
            "{line}"
        );
        assert_eq!(series.contains('{'), series.ends_with('}'), "{line}");
        let known = samples.insert(
            series.to_owned(),
            value.parse().unwrap_or_else(|_| panic!("{line}")),
        );
        assert!(known.is_none(), "twice: {line}");
    }
    samples
}

#[test]
fn metrics_render_in_prometheus_format() {
    let text = rendered(Redactor::default(), || {
        describe_counter!("ars_things_total", "Things");
        counter!("ars_things_total", "kind" => "a").increment(3);
        gauge!("ars_now").set(2.0);
        for ms in [5, 300, 20_000] {
            histogram!("ars_step_duration_seconds").record(Duration::from_millis(ms));
        }
    });
    let samples = samples(&text);
    assert_eq!(samples["ars_things_total{kind=\"a\"}"], 3.0);
    assert_eq!(samples["ars_now"], 2.0);
    let buckets = ["0.001", "0.005", "0.25", "0.5", "10", "30", "3600", "+Inf"];
    let counts =
        buckets.map(|le| samples[&format!("ars_step_duration_seconds_bucket{{le=\"{le}\"}}")]);
    assert_eq!(counts, [0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 3.0]);
    assert_eq!(samples["ars_step_duration_seconds_count"], 3.0);
    assert!(
        text.contains("# HELP ars_things_total Things\n# TYPE ars_things_total counter\n"),
        "{text}"
    );
}

#[test]
fn a_secret_in_a_label_is_not_rendered() {
    let redactor = Redactor::new(["canary-known-7f3a9c51e2".to_owned()]);
    let text = rendered(redactor, || {
        counter!("ars_things_total", "kind" => "canary-known-7f3a9c51e2").increment(1);
        counter!("ars_things_total", "kind" => "sk-ant-canary0123456789").increment(1);
        counter!("ars_tokens_total", "kind" => "input").increment(1);
    });
    assert!(!text.contains("canary"), "{text}");
    assert!(
        text.contains("ars_tokens_total{kind=\"input\"} 1"),
        "{text}"
    );
}
