//! Tests the errors from `ars ask` and their exit codes.

use ars_sql::Sql as _;
use ars_sql_native::NativeSql;
use ars_testkit::Reply;
use rustix::process::Signal;

use crate::support::{Machine, Running, answering, events, gated, run, run_with_input};

#[tokio::test]
async fn without_a_model_it_says_what_to_set() {
    let machine = Machine::new();
    let ended = run(&mut machine.ars(&["ask", "hi"])).await;
    ended.assert_refused(
        2,
        "invalid_input",
        &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "--rehearsal"],
    );
    assert!(
        !machine.path("data").exists(),
        "nothing is made before the request is known to be possible"
    );
}

#[tokio::test]
async fn unknown_agent_error_lists_the_known() {
    let (machine, fake) = answering([]).await;
    let ended = run(&mut machine.ars_with(&fake.url(), &["ask", "hi", "--agent", "painter"])).await;
    ended.assert_refused(2, "invalid_input", &["general", "coding"]);
    let ended = run(&mut machine.ars_with(&fake.url(), &["ask", "agent:painter hi"])).await;
    ended.assert_refused(2, "invalid_input", &["general", "coding"]);
    assert_eq!(fake.request_count(), 0);
    assert_eq!(machine.records().await.len(), 0);
}

#[tokio::test]
async fn a_blank_request_is_refused() {
    let (machine, fake) = answering([]).await;
    for (text, input) in [("", ""), (" \n", ""), ("-", " \n\t")] {
        let ended = run_with_input(&mut machine.ars_with(&fake.url(), &["ask", text]), input).await;
        ended.assert_refused(2, "invalid_input", &["blank"]);
    }
}

#[tokio::test]
async fn failed_clone_fails_the_run_quoting_git() {
    let (machine, fake) = answering([]).await;
    let folder = machine.path("unversioned");
    std::fs::create_dir(&folder).unwrap();
    let arguments = ["ask", "hi", "--repo", folder.to_str().unwrap()];
    let ended = run(&mut machine.ars_with(&fake.url(), &arguments)).await;
    ended.assert_refused(
        1,
        "failed",
        &["could not be cloned", "folder without git", "git init"],
    );
    assert_eq!(fake.request_count(), 0);
    assert_eq!(machine.record().await["status"], "failed");
    std::fs::create_dir(folder.join(".git")).unwrap();
    let ended = run(&mut machine.ars_with(&fake.url(), &arguments)).await;
    ended.assert_refused(1, "failed", &["could not be cloned", "does not exist"]);
}

#[tokio::test]
async fn missing_sandbox_is_reported_before_the_model_call() {
    let (machine, fake) = answering([]).await;
    let project = machine.project();
    let config = machine.file(
        "ars.toml",
        "[sandbox]\nkind = \"none\"\nnetwork = \"none\"\n",
    );
    let arguments = [
        "ask",
        "hi",
        "--repo",
        project.to_str().unwrap(),
        "--config",
        config.to_str().unwrap(),
    ];
    let ended = run(&mut machine.ars_with(&fake.url(), &arguments)).await;
    ended.assert_refused(
        1,
        "failed",
        &["commands cannot be confined", "apt install bubblewrap"],
    );
    assert_eq!(fake.request_count(), 0);
    let record = machine.record().await;
    assert_eq!(record["status"], "failed");
    assert!(
        events(&record, "run_meta")[0]["repo"].is_null(),
        "it never had one: {record}"
    );
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
}

#[tokio::test]
async fn coding_request_outside_a_repository_is_rejected() {
    let (machine, fake) = answering([]).await;
    let ended = run(&mut machine.ars_with(&fake.url(), &["ask", "hi", "--agent", "coding"])).await;
    ended.assert_refused(2, "invalid_input", &["--repo"]);
}

/// A command needs neither the agent's repository nor a model, and the words are no directives.
#[tokio::test]
async fn command_needs_no_repository() {
    let machine = Machine::new();
    let config = machine.file("ars.toml", "[defaults]\nagent = \"coding\"\n");
    let asked = async |text: &str| {
        run(&mut machine.ars(&["ask", text, "--config", config.to_str().unwrap()])).await
    };
    let listed = asked("runs list --status all").await;
    listed.assert_code(0);
    assert!(listed.stdout.starts_with("no runs"), "{listed:?}");
    asked("config instructions me agent:painter")
        .await
        .assert_code(0);
}

#[tokio::test]
async fn configuration_error_names_key_not_value() {
    let (machine, fake) = answering([]).await;
    let config = machine.file(
        "ars.toml",
        "[defaults]\nmodel = \"sk-ant-pasted-by-mistake\"\n",
    );
    let ended = run(&mut machine.ars_with(
        &fake.url(),
        &["ask", "hi", "--config", config.to_str().unwrap()],
    ))
    .await;
    ended.assert_refused(
        2,
        "invalid_input",
        &["ars.toml", "line 2", "model", "provider/model"],
    );
    assert!(!ended.stderr.contains("pasted"), "{ended:#?}");
    let ended =
        run(&mut machine.ars_with(&fake.url(), &["ask", "hi", "--config", "nowhere.toml"])).await;
    ended.assert_refused(2, "invalid_input", &["nowhere.toml"]);
}

#[tokio::test]
async fn lost_record_is_reported_with_the_answer() {
    let (machine, fake) = answering([]).await;
    let (gate, url) = gated(&fake.url()).await;
    fake.push([Reply::text("all the same")]);
    let ars = Running::start(&mut machine.ars_with(&url, &["ask", "hi"]));
    gate.wait_until_begun().await;
    // The store breaks during the run.
    let sql = NativeSql::open(&machine.path("data/store.sqlite3")).unwrap();
    sql.query("ALTER TABLE runs RENAME TO gone", &[]).unwrap();
    gate.open();
    let ended = ars.ended().await;
    ended.assert_code(1);
    assert_eq!(ended.stdout, "all the same\n");
    assert!(
        ended
            .stderr
            .contains("error (unavailable): the run's record could not be written"),
        "{ended:#?}"
    );
}

#[tokio::test]
async fn thread_in_use_is_a_conflict() {
    let (machine, fake) = answering([Reply::silent()]).await;
    let arguments = ["ask", "hi", "--thread", "one"];
    let first = Running::start(&mut machine.ars_with(&fake.url(), &arguments));
    fake.wait_for_requests(1).await;
    let second = run(&mut machine.ars_with(&fake.url(), &arguments)).await;
    second.assert_refused(1, "conflict", &["thread"]);
    first.signal(Signal::INT);
    first.ended().await.assert_code(130);
    fake.push([Reply::text("free again")]);
    run(&mut machine.ars_with(&fake.url(), &arguments))
        .await
        .assert_code(0);
}

#[tokio::test]
async fn unusable_data_directory_fails_before_the_model_call() {
    let (machine, fake) = answering([]).await;
    let file = machine.file("a-file", "");
    let inside = file.join("data");
    let ended = run(&mut machine.ars_with(
        &fake.url(),
        &["ask", "hi", "--data-dir", inside.to_str().unwrap()],
    ))
    .await;
    ended.assert_refused(1, "unavailable", &["data directory"]);
    assert_eq!(fake.request_count(), 0);
}
