//! Canaries: secrets in every input, searched for in every output.

use ars_events::{PLACEHOLDER, Redactor};
use serde_json::json;

use super::support::{Collector, TIMEOUT, TestSpan, Written, exported};
use crate::spans::Spans;

/// Configured secrets: plain, escaped by JSON, and digits only.
const KNOWN: [&str; 3] = [
    "canary-known-7f3a9c51e2",
    "canary\"quoted\\x",
    "83649127501",
];
/// Secrets by their shape or name.
const SHAPED: [&str; 4] = [
    "sk-ant-canary0123456789",
    "ghp_canary0123456789abcdef",
    "Bearer canary0123456789abcdef",
    "password=canary0123456789",
];
/// Fragments from the secrets, which no output may contain.
const TRACES: [&str; 3] = ["canary", "83649127501", "quoted"];

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct TextError(String);

fn redactor() -> Redactor {
    Redactor::new(KNOWN.map(str::to_owned))
}

/// Writes the secret into every field in every output kind.
fn write_everywhere(spans: &Spans<Written>, secret: &str) {
    let span = tracing::info_span!("work", what = secret, later = tracing::field::Empty);
    span.record("later", secret);
    let _entered = span.enter();
    let error = TextError(format!("refused {secret}"));
    tracing::error!(text = secret, shown = %secret, debugged = ?secret, error = %error, "said {secret}");
    tracing::error!(
        error = &error as &dyn std::error::Error,
        nested = %json!({ "a": [secret] }),
        api_key = "canary",
        number = 83_649_127_501_u64,
        signed = 83_649_127_501_i64,
        "line one\nline two {secret}"
    );
    let attrs = json!({ "said": secret, "deep": { "list": [secret], "token": "canary" } });
    let attrs = attrs.as_object().cloned().unwrap();
    let error = Some(format!("failed with {secret}"));
    TestSpan {
        name: format!("tool.{secret}"),
        error,
        attrs,
        ..TestSpan::new("s1", None, "x")
    }
    .end(spans);
}

#[tokio::test]
async fn secrets_reach_no_output() {
    let mut collector = Collector::answering(200).await;
    let secrets = KNOWN.iter().chain(&SHAPED);
    let (written, sending) = exported(redactor(), &collector.url, |spans| {
        secrets
            .clone()
            .for_each(|secret| write_everywhere(spans, secret));
    });
    assert!(sending.finish(TIMEOUT).await);

    let count = secrets.count();
    assert_eq!(
        written.lines().len(),
        3 * count,
        "every line is JSON, and all of them are there"
    );
    assert_eq!(collector.spans().len(), count);
    let bodies = collector.bodies(1).await;
    let sent = bodies
        .iter()
        .map(|body| String::from_utf8_lossy(body).into_owned())
        .collect::<String>();
    for (sink, text) in [("lines", written.text()), ("collector", sent)] {
        assert!(text.contains(PLACEHOLDER), "{sink}: {text}");
        for trace in TRACES {
            assert!(!text.contains(trace), "{trace} in {sink}: {text}");
        }
    }
}

#[test]
fn canaries_are_found_without_a_redactor() {
    // Guards the test above against a sink without output and a search without hits.
    let plain = super::support::written(Redactor::default(), &super::support::options(), |spans| {
        write_everywhere(spans, "canary-known-7f3a9c51e2");
    });
    assert!(
        plain.text().contains("canary-known-7f3a9c51e2") && plain.text().contains("83649127501")
    );
}
