//! schemathesis against the command routes' description.

use ars_testkit::github::FakeGitHub;
use ars_tests_surfaces::{DASHBOARD_TOKEN, Service, run_schemathesis};
use serde_json::{Value, json};

const TOKENS: &str = r#"{"good": {"subject": "ann"}}"#;
/// Minimum generated requests.
const MIN_CASES: u64 = 10_000;
/// Repository on the code host.
const REPOSITORY: &str = "acme/app";
/// Operations that exist only with a code host or with residents.
const OPTIONAL: [&str; 3] = [
    "/api/friction.propose",
    "/api/review.abridge",
    "/api/repo.onboard",
];
/// Maximum generated requests for an operation. Some operations have fewer different requests.
const MAX_EXAMPLES: u64 = 360;

/// Responses match their schemas and status codes, and invalid requests are rejected. None is a
/// service fault.
#[tokio::test]
async fn service_matches_its_description() {
    let github = FakeGitHub::start().await;
    github.add_repository(REPOSITORY, &[("a.txt", "one\n")]);
    let (url, app) = (github.url(), github.app());
    let installation = app.installation.to_string();
    let variables = [
        ("GITHUB_BASE_URL", url.as_str()),
        ("GITHUB_APP_ID", app.id.as_str()),
        ("GITHUB_APP_INSTALLATION_ID", installation.as_str()),
        ("GITHUB_APP_PRIVATE_KEY", app.private_key.as_str()),
    ];
    let tables =
        format!("[selfImprovement]\nrepo = \"{REPOSITORY}\"\n[execution.resident]\nlocal = true\n");
    let service = Service::start_configured(TOKENS, &variables, &tables).await;
    let run = service.run("good").await;
    let described: Value = reqwest::Client::new()
        .get(service.url("/api/openapi.json"))
        .bearer_auth(DASHBOARD_TOKEN)
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    for path in OPTIONAL {
        assert!(
            described["paths"][path].is_object(),
            "{path} is not described"
        );
    }
    let plan = json!({ "examples": MAX_EXAMPLES, "knownRun": run, "knownRepository": REPOSITORY });
    let report = run_schemathesis(&service.url(""), DASHBOARD_TOKEN, &plan).await;
    let printed = report["printed"].as_str().unwrap();
    assert_eq!(
        (&report["failures"], &report["errors"]),
        (&json!([]), &json!([])),
        "{printed}"
    );
    assert_eq!(
        (&report["exit_code"], &report["complete"]),
        (&json!(0), &json!(true)),
        "{printed}"
    );
    // Those with other gates are left out. Each has a single operation.
    let paths = described["paths"].as_object().unwrap();
    let left_out = paths
        .keys()
        .filter(|path| !path.starts_with("/api/"))
        .count() as u64;
    let count = |name: &str| report["operations"][name].as_u64().unwrap();
    assert_eq!(count("tested") + left_out, count("total"), "{printed}");
    assert!(
        report["test_cases"]["generated"].as_u64() >= Some(MIN_CASES),
        "{printed}"
    );
    let listed = github
        .targets()
        .iter()
        .filter(|target| target.contains("/repos/acme/app/issues"))
        .count();
    assert!(listed > 0, "no call reached the code host");
}
