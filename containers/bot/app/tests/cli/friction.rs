//! `ars friction analyze`: saved streams, from a file, from a pipe, and from the service itself.

use ars_testkit::Reply;
use serde_json::{Value, json};

use crate::support::{Machine, answering, run, run_with_input};

const LINES: &str = include_str!("../../../core/src/commands/friction/fixtures/run.jsonl");

/// A rehearsed run from the build before `search` accepted text, and the script.
const BEFORE: &str =
    include_str!("../../../../../tests/simulation/fixtures/friction/search-before.jsonl");
const SEARCH: &str = include_str!("../../../../../tests/simulation/fixtures/friction/search.toml");

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[tokio::test]
async fn stream_is_read_from_file_or_stdin() {
    let machine = Machine::new();
    let file = machine.file("run.jsonl", LINES);
    let file = file.to_str().unwrap();
    let from_file = run(&mut machine.ars(&["friction", "analyze", file])).await;
    from_file.assert_code(0);
    assert!(
        from_file.stdout.contains("bash was slow"),
        "{}",
        from_file.stdout
    );
    for arguments in [&["friction", "analyze"][..], &["friction", "analyze", "-"]] {
        let piped = run_with_input(&mut machine.ars(arguments), LINES).await;
        piped.assert_code(0);
        assert_eq!(piped.stdout, from_file.stdout);
    }
}

#[tokio::test]
async fn json_is_the_exact_object() {
    let machine = Machine::new();
    let input = format!("{LINES}not json\n");
    let arguments = [
        "friction",
        "analyze",
        "--json",
        "--slow-ms",
        "60000.4",
        "--in-progress",
    ];
    let ended = run_with_input(&mut machine.ars(&arguments), &input).await;
    ended.assert_code(0);
    let analysis = json_of(&ended.stdout);
    let keys: Vec<_> = analysis
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(keys, ["source", "events", "skipped", "diagnosis"]);
    assert_eq!(
        (&analysis["source"], &analysis["skipped"]),
        (&json!("-"), &json!(1))
    );
    assert_eq!(analysis["events"], LINES.lines().count());
    assert_eq!(analysis["diagnosis"]["byCategory"]["slow_tool"]["count"], 0);
}

#[tokio::test]
async fn source_without_events_exits_1() {
    let machine = Machine::new();
    let ended = run_with_input(
        &mut machine.ars(&["friction", "analyze"]),
        "nothing\nof use\n",
    )
    .await;
    ended.assert_refused(1, "failed", &["no events", "skipped: 2", "curl"]);
    let ended = run_with_input(&mut machine.ars(&["friction", "analyze", "--json"]), "").await;
    ended.assert_code(1);
    let analysis = json_of(&ended.stdout);
    assert_eq!(
        (&analysis["events"], &analysis["skipped"]),
        (&json!(0), &json!(0))
    );
    assert!(
        analysis["hint"].as_str().unwrap().contains("curl"),
        "{analysis}"
    );
}

#[tokio::test]
async fn what_cannot_be_read_or_understood_is_said() {
    let machine = Machine::new();
    let missing = machine.path("missing.jsonl");
    let ended = run(&mut machine.ars(&["friction", "analyze", missing.to_str().unwrap()])).await;
    ended.assert_refused(1, "unavailable", &["missing.jsonl"]);
    for wrong in ["-1", "soon", "NaN", "inf"] {
        let ended =
            run(&mut machine.ars(&["friction", "analyze", &format!("--slow-ms={wrong}")])).await;
        ended.assert_code(2);
        assert_eq!(ended.stdout, "");
    }
}

#[tokio::test]
async fn no_configuration_is_needed() {
    let machine = Machine::new();
    let mut command = machine.ars(&["friction", "analyze"]);
    command.env("SERVICE_CONFIG", machine.path("no-such-file"));
    run_with_input(&mut command, LINES).await.assert_code(0);
}

#[tokio::test]
async fn service_stream_is_analyzed() {
    let (machine, fake) =
        answering([Reply::tool("no_such_tool", json!({})), Reply::text("done")]).await;
    let server = machine.serve_openly(&fake.url()).await;
    let (_, body) = server.ask(&json!({"text": "hi"})).await;
    let events = format!(
        "{}/runs/{}/events",
        server.url(),
        body["run"]["id"].as_str().unwrap()
    );
    let stream = reqwest::get(events).await.unwrap().text().await.unwrap();
    server.terminate().await.assert_code(0);

    let ended = run_with_input(
        &mut machine.ars(&["friction", "analyze", "--json"]),
        &stream,
    )
    .await;
    ended.assert_code(0);
    let analysis = json_of(&ended.stdout);
    assert_eq!(analysis["skipped"], 0, "{stream}");
    assert_eq!(
        analysis["events"],
        stream
            .lines()
            .filter(|line| line.starts_with("id:"))
            .count()
    );
    assert_eq!(
        analysis["diagnosis"]["byCategory"]["failed_tool"]["count"], 1,
        "{analysis:#}"
    );
}

/// A model searches for a call as text. See docs/reference/friction.md#found-in-our-own-runs.
#[tokio::test]
async fn search_for_a_call_causes_no_friction() {
    let machine = Machine::new();
    let before = machine.file("before.jsonl", BEFORE);
    let script = machine.file("search.toml", SEARCH);
    let project = machine.project();
    let [before, script, project] = [&before, &script, &project].map(|path| path.to_str().unwrap());
    let arguments = [
        "ask",
        "agent:coding who calls evenly",
        "--rehearsal",
        script,
        "--repo",
        project,
        "--json-lines",
    ];
    let recorded = run(&mut machine.ars(&arguments)).await;
    recorded.assert_code(0);
    let after = machine.file("after.jsonl", &recorded.stdout);
    for (file, calls, failed) in [(before, 2, 1), (after.to_str().unwrap(), 1, 0)] {
        let analyzed = run(&mut machine.ars(&["friction", "analyze", "--json", file])).await;
        let diagnosis = &json_of(&analyzed.stdout)["diagnosis"];
        assert_eq!(
            (
                &diagnosis["toolCalls"],
                &diagnosis["byCategory"]["failed_tool"]["count"]
            ),
            (&json!(calls), &json!(failed)),
            "{file}: {diagnosis}"
        );
    }
    // Runs the script a second time, so that shared parts would be a pattern.
    run(&mut machine.ars(&arguments)).await.assert_code(0);
    let reported = run(&mut machine.ars(&["ask", "--json", "friction report --min-runs 2"])).await;
    reported.assert_code(0);
    let report = json_of(&reported.stdout);
    let report = report.to_string();
    assert!(
        report.contains("2 runs") && !report.contains("evenly("),
        "{report}"
    );
}
