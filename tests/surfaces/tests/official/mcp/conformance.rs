//! The official conformance suite, for both eras.
//!
//! The suite scores servers that offer its own fixtures. Scenarios for optional capabilities that
//! this server does not offer are excluded by name. In the other scenarios, the checks that the
//! server's documents rule out are expected failures (`mcp/expected`); any other failure, and an
//! expected failure that passes, fails the test.

use std::collections::BTreeSet;

use ars_tests_surfaces::{Service, Tool, with_bearer};

const TOKENS: &str = r#"{"suite": {"subject": "suite", "scopes": ["dispatch", "runs:read"]}}"#;

/// Scenarios that need features the server does not offer, with each group's reason.
const EXCLUDED: &[(&str, &[&str])] = &[
    (
        "they call tools of the suite by name; the tools here are `dispatch` and the commands",
        &[
            "tools-call-simple-text",
            "tools-call-image",
            "tools-call-audio",
            "tools-call-embedded-resource",
            "tools-call-mixed-content",
            "tools-call-error",
            "tools-call-with-progress",
            "json-schema-2020-12",
            "http-custom-header-server-validation",
        ],
    ),
    (
        "no tool requests sampling, elicitation, roots or other input of the client",
        &[
            "tools-call-sampling",
            "tools-call-elicitation",
            "elicitation-sep1034-defaults",
            "elicitation-sep1330-enums",
            "input-required-result-basic-elicitation",
            "input-required-result-basic-sampling",
            "input-required-result-basic-list-roots",
            "input-required-result-request-state",
            "input-required-result-multiple-input-requests",
            "input-required-result-multi-round",
            "input-required-result-missing-input-response",
            "input-required-result-non-tool-request",
            "input-required-result-result-type",
            "input-required-result-tampered-state",
            "input-required-result-capability-check",
            "input-required-result-ignore-extra-params",
        ],
    ),
    (
        "the capability `logging` is not offered",
        &["logging-set-level", "tools-call-with-logging"],
    ),
    (
        "the capability `completions` is not offered",
        &["completion-complete"],
    ),
    (
        "the capability `resources` is not offered",
        &[
            "resources-list",
            "resources-read-text",
            "resources-read-binary",
            "resources-templates-read",
            "resources-subscribe",
            "resources-unsubscribe",
            "sep-2164-resource-not-found",
        ],
    ),
    (
        "the capability `prompts` is not offered",
        &[
            "prompts-list",
            "prompts-get-simple",
            "prompts-get-with-args",
            "prompts-get-embedded-resource",
            "prompts-get-with-image",
        ],
    ),
];

/// Returns the excluded scenarios' names.
fn excluded() -> BTreeSet<&'static str> {
    EXCLUDED
        .iter()
        .flat_map(|(_, scenarios)| *scenarios)
        .copied()
        .collect()
}

/// Returns the suite's scenarios for servers with a revision.
async fn scenarios(revision: &str) -> BTreeSet<String> {
    let listed = Tool::Conformance
        .run(&["list", "--server", "--spec-version", revision])
        .await;
    assert_eq!(listed.code, Some(0), "{listed:?}");
    let lines = listed
        .stdout
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- "));
    lines
        .filter_map(|line| line.split(' ').next())
        .map(str::to_owned)
        .collect()
}

async fn conforms(revision: &str) {
    let service = Service::start(TOKENS).await;
    let url = format!("{}/mcp", with_bearer(service.url(""), "suite").await);
    let expected = format!(
        "{}/mcp/expected/{revision}.yaml",
        env!("CARGO_MANIFEST_DIR")
    );
    let known = scenarios(revision).await;
    let offered: Vec<&String> = known
        .iter()
        .filter(|name| !excluded().contains(name.as_str()))
        .collect();
    assert!(offered.len() > 6, "{known:?}");
    for scenario in offered {
        let suite = [
            "server",
            "--url",
            &url,
            "--scenario",
            scenario,
            "--spec-version",
            revision,
        ];
        let ended = Tool::Conformance
            .run(&[&suite[..], &["--expected-failures", &expected]].concat())
            .await;
        assert_eq!(
            ended.code,
            Some(0),
            "{scenario}:\n{}\n{}",
            ended.stdout,
            ended.stderr
        );
    }
}

/// Each excluded name is in the suite.
#[tokio::test]
async fn excluded_scenarios_exist() {
    let mut known = scenarios("2025-11-25").await;
    known.extend(scenarios("2026-07-28").await);
    let unknown: Vec<&str> = excluded()
        .into_iter()
        .filter(|name| !known.contains(*name))
        .collect();
    assert_eq!(unknown, [""; 0]);
}

#[tokio::test]
async fn revision_of_2025_conforms() {
    conforms("2025-11-25").await;
}

#[tokio::test]
async fn revision_of_2026_conforms() {
    conforms("2026-07-28").await;
}
