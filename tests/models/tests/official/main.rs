//! The official vendor clients call the fake vendors, and their types parse our clients' requests.

#![expect(
    clippy::unwrap_used,
    reason = "what fails in a test's helper fails the test"
)]

mod anthropic;
mod github;
mod openai;
mod ours;
mod slack;

use serde_json::{Value, json};

/// The two ways to call a model, alternating.
fn in_turn(calls: usize) -> Value {
    ["whole", "streamed"]
        .into_iter()
        .cycle()
        .take(calls)
        .collect()
}

/// Checks that each scripted error raised the client's type for it.
fn assert_raised(failed: &Value, cases: &[(u16, &str, &str)]) {
    for (index, (status, _, raised)) in cases.iter().enumerate() {
        let failed = &failed[index];
        assert_eq!(
            (&failed["type"], &failed["status"]),
            (&json!(raised), &json!(status))
        );
        assert!(
            failed["message"].as_str().unwrap().contains("as scripted"),
            "{failed}"
        );
    }
}

/// Checks that the fake noted each broken rule, and that the client reports it.
fn assert_refused<'a>(failed: &Value, broken: &[String], rules: impl Iterator<Item = &'a str>) {
    for (index, rule) in rules.enumerate() {
        assert_eq!(failed[index]["type"], "BadRequestError", "{rule}");
        assert!(
            failed[index]["message"].as_str().unwrap().contains(rule),
            "{rule}: {failed}"
        );
        assert!(
            broken.iter().any(|words| words.contains(rule)),
            "{rule}: {broken:?}"
        );
    }
}
