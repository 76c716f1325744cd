//! The official conformance suite, for both eras.
//!
//! The suite scores servers that offer its own fixtures. What this server's documents rule out is listed as an expected
//! failure in `mcp/expected`, one reason for each group; any other failure, and an expected one that passes, fails the
//! test.

use ars_tests_surfaces::{Service, Tool, with_bearer};

const TOKENS: &str = r#"{"suite": {"subject": "suite", "scopes": ["dispatch", "runs:read"]}}"#;

async fn conforms(revision: &str) {
    let service = Service::start(TOKENS).await;
    let url = format!("{}/mcp", with_bearer(service.url(""), "suite").await);
    let expected = format!("{}/mcp/expected/{revision}.yaml", env!("CARGO_MANIFEST_DIR"));
    let suite = ["server", "--url", &url, "--suite", "all", "--spec-version", revision];
    let ended = Tool::Conformance.run(&[&suite[..], &["--expected-failures", &expected]].concat()).await;
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
}

#[tokio::test]
async fn revision_of_2025_conforms() {
    conforms("2025-11-25").await;
}

#[tokio::test]
async fn revision_of_2026_conforms() {
    conforms("2026-07-28").await;
}
