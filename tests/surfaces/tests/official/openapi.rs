//! schemathesis against the description of the command routes.

use ars_tests_surfaces::{DASHBOARD_TOKEN, Service, run_schemathesis};
use serde_json::json;

const TOKENS: &str = r#"{"good": {"subject": "ann"}}"#;
/// Least generated requests.
const MIN_CASES: u64 = 10_000;
/// Most generated requests of an operation. Some operations have fewer different ones.
const MAX_EXAMPLES: u64 = 470;

/// Answers match their schemas and status codes, and invalid requests are rejected.
/// None is a fault of the service.
#[tokio::test]
async fn service_matches_its_description() {
    let service = Service::start(TOKENS).await;
    let run = service.run("good").await;
    let plan = json!({ "examples": MAX_EXAMPLES, "knownRun": run });
    let report = run_schemathesis(&service.url(""), DASHBOARD_TOKEN, &plan).await;
    let printed = report["printed"].as_str().unwrap();
    assert_eq!((&report["failures"], &report["errors"]), (&json!([]), &json!([])), "{printed}");
    assert_eq!((&report["exit_code"], &report["complete"]), (&json!(0), &json!(true)), "{printed}");
    assert_eq!(report["operations"]["tested"], report["operations"]["total"], "{printed}");
    assert!(report["test_cases"]["generated"].as_u64() >= Some(MIN_CASES), "{printed}");
}
