//! `ars doctor`: findings, their mends, and the exit code.

use std::collections::BTreeMap;

use ars_testkit::Reply;
use serde_json::Value;

use crate::support::{CANARY, Ended, Machine, answering, nobody, run};

/// The findings by check.
fn findings(ended: &Ended) -> BTreeMap<String, Value> {
    let findings = ended
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    findings
        .map(|finding| (finding["check"].as_str().unwrap().to_owned(), finding))
        .collect()
}

#[tokio::test]
async fn complete_installation_exits_0() {
    let (machine, fake) = answering([Reply::text("ok")]).await;
    let mut ars = machine.ars_with(&fake.url(), &["doctor", "--json", "--call-model"]);
    let ended = run(ars.env(
        "SERVICE_INGRESS_TOKENS",
        r#"{"one-token":{"subject":"ann"}}"#,
    ))
    .await;
    ended.assert_code(0);
    let found = findings(&ended);
    for check in ["configuration", "keys", "model", "store", "ingress", "git"] {
        assert_eq!(found[check]["state"], "ok", "{check}: {}", ended.stdout);
    }
    let short = found["secrets"]["detail"].as_str().unwrap();
    assert!(
        short.starts_with("SERVICE_INGRESS_TOKENS has a secret of fewer than 20 characters"),
        "{short}"
    );
    // Commands run confined here, and reach their proxy. Only bubblewrap leaves no gap.
    let detail = found["sandbox"]["detail"].as_str().unwrap();
    assert!(
        detail.contains("network proxy") && !detail.contains("refused"),
        "{detail}"
    );
    let state = if detail.starts_with("bubblewrap") {
        "ok"
    } else {
        "warning"
    };
    assert_eq!(found["sandbox"]["state"], state, "{detail}");
    let (of_runs, has_mend) = (
        &found["run-cgroup"],
        found["run-cgroup"]["mend"].is_string(),
    );
    let detail = of_runs["detail"].as_str().unwrap();
    match of_runs["state"].as_str().unwrap() {
        "ok" => assert!(
            detail.starts_with("v1: ") || detail.starts_with("v2: "),
            "{detail}"
        ),
        _ => assert!(
            detail.starts_with("none: ") && detail.len() > 60 && has_mend,
            "{detail}"
        ),
    }
    assert!(
        found["cgroup"]["detail"]
            .as_str()
            .unwrap()
            .contains("all runs"),
        "{}",
        ended.stdout
    );
    assert!(!machine.path("data").exists(), "nothing is created");
    assert!(
        !ended.stdout.contains(CANARY) && !ended.stdout.contains("one-token"),
        "{}",
        ended.stdout
    );
}

#[tokio::test]
async fn model_is_called_only_on_request() {
    let (machine, fake) = answering([]).await;
    run(&mut machine.ars_with(&fake.url(), &["doctor"]))
        .await
        .assert_code(0);
    assert_eq!(fake.request_count(), 0);
}

#[tokio::test]
async fn missing_key_is_a_failure_with_its_mend() {
    let machine = Machine::new();
    let ended = run(&mut machine.ars(&["doctor"])).await;
    ended.assert_code(1);
    assert!(ended.stdout.contains("failure  keys: "), "{}", ended.stdout);
    assert!(
        ended
            .stdout
            .contains("mend: set ANTHROPIC_API_KEY or OPENAI_API_KEY"),
        "{}",
        ended.stdout
    );
}

#[tokio::test]
async fn invalid_configuration_does_not_stop_other_checks() {
    let machine = Machine::new();
    let config = machine.file("ars.toml", "[defaults]\nmodle = \"a/b\"\n");
    let mut ars = machine.ars(&["doctor", "--json", "--config", config.to_str().unwrap()]);
    let ended = run(ars.env("SERVICE_INGRESS_TOKENS", "[]")).await;
    ended.assert_code(1);
    let found = findings(&ended);
    assert_eq!(found["configuration"]["state"], "failure");
    assert!(
        found["configuration"]["detail"]
            .as_str()
            .unwrap()
            .contains("line 2"),
        "{}",
        ended.stdout
    );
    assert_eq!(found["ingress"]["state"], "failure");
    assert!(
        found["ingress"]["mend"]
            .as_str()
            .unwrap()
            .contains("subject"),
        "{}",
        ended.stdout
    );
    assert!(
        found.contains_key("sandbox") && found.contains_key("git"),
        "{}",
        ended.stdout
    );
}

#[tokio::test]
async fn missing_sandbox_fails_where_trees_are_needed() {
    let (machine, fake) = answering([]).await;
    let none = "[sandbox]\nkind = \"none\"\nnetwork = \"none\"\n";
    for (defaults, state, code) in [
        ("", "warning", 0),
        ("[defaults]\nagent = \"general\"\n", "warning", 0),
        ("[defaults]\nagent = \"coding\"\n", "failure", 1),
        (
            "[[repositories]]\nname = \"app\"\norigin = \"https://host.example/app\"\n",
            "failure",
            1,
        ),
    ] {
        let config = machine.file("ars.toml", &format!("{none}{defaults}"));
        let arguments = ["doctor", "--json", "--config", config.to_str().unwrap()];
        let ended = run(&mut machine.ars_with(&fake.url(), &arguments)).await;
        let sandbox = &findings(&ended)["sandbox"];
        assert_eq!(sandbox["state"], state, "{defaults}: {sandbox}");
        assert!(
            sandbox["mend"]
                .as_str()
                .unwrap()
                .contains("apt install bubblewrap"),
            "{sandbox}"
        );
        ended.assert_code(code);
    }
}

#[tokio::test]
async fn unusable_store_is_a_failure() {
    let (machine, fake) = answering([]).await;
    let inside = machine.file("a-file", "").join("data");
    let arguments = ["doctor", "--json", "--data-dir", inside.to_str().unwrap()];
    let ended = run(&mut machine.ars_with(&fake.url(), &arguments)).await;
    ended.assert_code(1);
    let found = findings(&ended);
    assert!(
        found["store"]["mend"]
            .as_str()
            .unwrap()
            .contains("--data-dir"),
        "{}",
        ended.stdout
    );
    let mut ars = machine.ars_with(&fake.url(), &["doctor", "--json"]);
    let ended = run(ars
        .env("STATE_WORKER_URL", nobody())
        .env("MEMORY_TOKEN", "m"))
    .await;
    ended.assert_code(1);
    assert_eq!(
        findings(&ended)["store"]["state"],
        "failure",
        "{}",
        ended.stdout
    );
}
