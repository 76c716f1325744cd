//! The registry with the cap, and the lifecycle of residents that get no container.

use std::time::{Duration, Instant};

use ars_tests_workerd::resident_worker;
use serde_json::json;

use crate::{get, onboarding, post};

/// Longest wait for a state; only a fault reaches it.
const TIMEOUT: Duration = Duration::from_secs(60);
const REPOSITORY: &str = "repo:acme/app";
/// The shortest provisioning budget that is accepted.
const SHORTEST_TIMEOUT_MS: u64 = 10_000;

#[test]
fn registry_admits_up_to_its_cap() {
    let worker = resident_worker();
    let client = &worker.client;
    let overrides = json!({ "op": "set-test-overrides", "cap": 1 });
    assert_eq!(post(client, "/debug", "admin", &overrides).body["cap"], 1);
    let first = post(client, "/onboard", "admin", &onboarding(REPOSITORY));
    assert_eq!(
        (first.status, &first.body["state"]),
        (202, &json!("onboarding"))
    );
    let warning = first.body["warning"].as_str().unwrap();
    assert!(
        warning.starts_with("github-app-not-configured:"),
        "{warning}"
    );
    assert_eq!(
        post(client, "/onboard", "admin", &onboarding(REPOSITORY)).status,
        409
    );
    let over = post(client, "/onboard", "admin", &onboarding("repo:acme/other"));
    assert_eq!(over.status, 429);
    assert!(
        over.body["error"].as_str().unwrap().contains("1/1"),
        "{:?}",
        over.body
    );
    let listed = get(client, "/residents", "read").body;
    assert_eq!(
        (&listed["count"], &listed["cap"], &listed["capDefault"]),
        (&json!(1), &json!(1), &json!(6))
    );
    assert_eq!(listed["residents"][0]["live"]["resource"], REPOSITORY);

    let plan = post(
        client,
        "/offboard",
        "admin",
        &json!({ "resource": REPOSITORY, "dryRun": true }),
    );
    assert_eq!(plan.status, 200, "{:?}", plan.body);
    assert_eq!(get(client, "/residents", "read").body["count"], 1);
    let report = post(
        client,
        "/offboard",
        "admin",
        &json!({ "resource": REPOSITORY }),
    );
    assert_eq!(
        (report.status, &report.body["registryRemoved"]),
        (200, &json!(true))
    );
    // The bucket is not bound here, and a part that fails is an entry.
    assert!(
        !report.body["errors"].as_array().unwrap().is_empty(),
        "{:?}",
        report.body
    );
    assert_eq!(get(client, "/residents", "read").body["count"], 0);
    assert_eq!(
        post(
            client,
            "/offboard",
            "admin",
            &json!({ "resource": REPOSITORY })
        )
        .status,
        404
    );
}

#[test]
fn deadline_of_provisioning_survives_a_kill() {
    let mut worker = resident_worker();
    let mut request = onboarding(REPOSITORY);
    request["provisioningTimeoutMs"] = json!(SHORTEST_TIMEOUT_MS);
    assert_eq!(
        post(&worker.client, "/onboard", "admin", &request).status,
        202
    );
    let status = get(
        &worker.client,
        &format!("/status?resource={REPOSITORY}"),
        "operator",
    )
    .body;
    assert_eq!(status, json!({ "state": "onboarding", "reason": null }));
    // The alarm is durable, and at the deadline the place is free again.
    worker.kill_and_restart();
    let began = Instant::now();
    while get(&worker.client, "/residents", "read").body["count"] != 0 {
        assert!(began.elapsed() < TIMEOUT, "not in time: {}", worker.log());
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(
        post(&worker.client, "/onboard", "admin", &request).status,
        202
    );
    let pass = post(
        &worker.client,
        "/debug",
        "admin",
        &json!({ "op": "run-watchdog" }),
    );
    assert_eq!((pass.status, &pass.body["count"]), (200, &json!(1)));
    assert_eq!(pass.body["results"][0]["resource"], REPOSITORY);
}
