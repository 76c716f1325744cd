//! Tests `ars ask` from the request to the record.

use ars_testkit::Reply;
use serde_json::{Value, json};

use crate::support::{CANARY, Machine, answering, events, run, run_with_input};

const REHEARSAL: &str = r#"
[[turn]]
text = "I mend the greeting."
[[turn.call]]
tool = "edit_file"
input = { path = "greeting.txt", old = "helo", new = "hello" }

[[turn]]
[[turn.call]]
tool = "bash"
input = { command = "cat greeting.txt; false" }

[[turn]]
text = "The greeting is right now."
"#;

#[tokio::test]
async fn json_lines_are_events_and_a_result() {
    let (machine, fake) = answering([Reply::text("forty-two")]).await;
    let ended = run(&mut machine.ars_with(&fake.url(), &["ask", "hi", "--json-lines"])).await;
    ended.assert_code(0);
    assert_eq!(ended.stderr, "");
    let lines: Vec<Value> = ended
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let (result, events) = lines.split_last().unwrap();
    assert!(
        events
            .iter()
            .all(|event| event["type"].is_string() && event["seq"].is_u64()),
        "{events:#?}"
    );
    assert!(
        events.iter().any(|event| event["type"] == "answer"),
        "{events:#?}"
    );
    assert_eq!(
        (&result["type"], &result["reply"]),
        (&json!("result"), &json!("forty-two"))
    );
    assert_eq!(result["run"]["status"], "completed");
    let both =
        run(&mut machine.ars_with(&fake.url(), &["ask", "hi", "--json", "--json-lines"])).await;
    both.assert_code(2);
}

#[tokio::test]
async fn failed_run_exits_1_in_every_format() {
    for format in ["--json", "--json-lines"] {
        let (machine, fake) = answering([]).await;
        let plain = machine.path("elsewhere");
        let arguments = ["ask", "hi", format, "--repo", plain.to_str().unwrap()];
        let ended = run(&mut machine.ars_with(&fake.url(), &arguments)).await;
        ended.assert_code(1);
        let result: Value = serde_json::from_str(ended.stdout.lines().last().unwrap()).unwrap();
        assert_eq!(result["run"]["status"], "failed", "{format}");
    }
}

#[tokio::test]
async fn request_edits_a_copy_of_the_repository() {
    let machine = Machine::new();
    let (project, script) = (machine.project(), machine.file("script.toml", REHEARSAL));
    let (project, script) = (project.to_str().unwrap(), script.to_str().unwrap());
    let ended = run(&mut machine.ars(&[
        "ask",
        "mend the greeting",
        "--repo",
        project,
        "--rehearsal",
        script,
    ]))
    .await;
    ended.assert_code(0);
    assert_eq!(ended.stdout, "[rehearsal] The greeting is right now.\n");

    let steps = &ended.stderr;
    for step in
        "rehearsal/script|I mend the greeting.|edit_file greeting.txt|$ cat greeting.txt|exit 1|\
        hello"
            .split('|')
    {
        assert!(steps.contains(step), "{step:?} in {steps}");
    }
    assert!(
        !steps.contains('\u{1b}'),
        "colour is for terminals: {steps}"
    );
    assert!(
        steps.contains("1 file changed") && steps.contains("+1 -1"),
        "{steps}"
    );

    let thread = steps
        .lines()
        .find_map(|line| line.strip_prefix("thread: "))
        .unwrap();
    let (name, _) = thread.split_once(" (go on with --thread ").unwrap();
    let diff = run(&mut machine.ars(&["diff", &format!("cli:{name}")])).await;
    assert!(
        diff.stdout.contains("+hello")
            && steps.contains(&format!("`ars diff cli:{name} | git apply`"))
    );
    let tree = steps
        .lines()
        .find_map(|line| line.strip_prefix("working tree: "))
        .unwrap();
    assert_eq!(
        std::fs::read_to_string(format!("{tree}/greeting.txt")).unwrap(),
        "hello\n"
    );
    assert_eq!(
        std::fs::read_to_string(format!("{project}/greeting.txt")).unwrap(),
        "helo\n"
    );

    let record = machine.record().await;
    assert_eq!(record["status"], "completed");
    assert_eq!(record["replyOk"], json!(true));
    // The full path is the name: another `project` is another repository.
    let place = format!(
        "origin:{}",
        std::fs::canonicalize(project).unwrap().display()
    );
    assert_eq!(
        (record["agent"].as_str(), record["repo"].as_str()),
        (Some("coding"), Some(place.as_str()))
    );
    assert_eq!(
        (record["userId"].as_str(), record["channelId"].as_str()),
        (Some("cli:local"), Some("cli:local"))
    );
    assert!(record["threadKey"].as_str().unwrap().starts_with("cli:"));
    assert_eq!(record["channelVisibility"], "unknown");
    let exits: Vec<_> = events(&record, "tool_result")
        .iter()
        .map(|event| event["exitCode"].clone())
        .collect();
    assert_eq!(exits, [Value::Null, json!(1)]);
}

#[tokio::test]
async fn thread_reopens_its_working_tree() {
    let machine = Machine::new();
    let (project, script) = (machine.project(), machine.file("script.toml", REHEARSAL));
    let (project, script) = (project.to_str().unwrap(), script.to_str().unwrap());
    let thread = ["--thread", "greeting", "--agent", "coding", "--rehearsal"];
    let first = [
        &["ask", "mend it", "--repo", project],
        &thread[..],
        &[script],
    ]
    .concat();
    run(&mut machine.ars(&first)).await.assert_code(0);
    // The thread's own repository wins over the current directory's.
    let other = machine.path("elsewhere");
    std::fs::create_dir(other.join(".git")).unwrap();
    let look = "[[turn]]\n[[turn.call]]\ntool = \"bash\"\ninput = { command = \"cat greeting.txt\" }\n[[turn]]\ntext = \"seen\"\n";
    let look = machine.file("look.toml", look);
    let second = [&["ask", "look"], &thread[..], &[look.to_str().unwrap()]].concat();
    let ended = run(&mut machine.ars(&second)).await;
    ended.assert_code(0);
    assert!(ended.stderr.contains("hello"), "{ended:#?}");
}

#[tokio::test]
async fn coding_request_uses_the_surrounding_repository() {
    let machine = Machine::new();
    let (project, script) = (machine.project(), machine.file("script.toml", REHEARSAL));
    let arguments = [
        "ask",
        "mend it",
        "--agent",
        "coding",
        "--rehearsal",
        script.to_str().unwrap(),
    ];
    let ended = run(machine.ars(&arguments).current_dir(project.join("src"))).await;
    ended.assert_code(0);
    let root = project.canonicalize().unwrap();
    assert!(ended.stderr.contains(root.to_str().unwrap()), "{ended:#?}");
    assert_eq!(
        machine.record().await["repo"],
        format!("origin:{}", root.display())
    );
}

#[tokio::test]
async fn json_output_is_one_object() {
    let (machine, fake) = answering([Reply::text("forty-two")]).await;
    let ended = run(&mut machine.ars_with(&fake.url(), &["ask", "what is it?", "--json"])).await;
    ended.assert_code(0);
    let answer: Value = serde_json::from_str(&ended.stdout).unwrap();
    let record = machine.record().await;
    assert_eq!(
        answer,
        json!({"reply": "forty-two", "run": {"id": record["id"], "status": "completed"}})
    );
}

#[tokio::test]
async fn a_dash_reads_the_request_from_standard_input() {
    let (machine, fake) = answering([Reply::text("yes")]).await;
    let ended = run_with_input(
        &mut machine.ars_with(&fake.url(), &["ask", "-"]),
        "is it\nraining?\n",
    )
    .await;
    ended.assert_code(0);
    assert_eq!(ended.stdout, "yes\n");
    let sent = fake.requests()[0].body.to_string();
    assert!(sent.contains("is it\\nraining?"), "{sent}");
}

#[tokio::test]
async fn command_line_model_wins() {
    let (machine, fake) = answering([Reply::text("done")]).await;
    let config = "[defaults]\nmodel = \"anthropic/of-all\"\n[defaults.models]\ngeneral = \"anthropic/of-the-agent\"\n";
    let config = machine.file("ars.toml", config);
    let arguments = [
        "ask",
        "hi",
        "--config",
        config.to_str().unwrap(),
        "--model",
        "anthropic/of-the-flag",
    ];
    run(&mut machine.ars_with(&fake.url(), &arguments))
        .await
        .assert_code(0);
    assert_eq!(fake.requests()[0].body["model"], "of-the-flag");
}

#[tokio::test]
async fn rehearsal_never_uses_a_real_model() {
    let (machine, fake) = answering([]).await;
    let script = machine.file("script.toml", "[[turn]]\ntext = \"as rehearsed\"\n");
    let arguments = ["ask", "hi", "--rehearsal", script.to_str().unwrap()];
    let ended = run(&mut machine.ars_with(&fake.url(), &arguments)).await;
    ended.assert_code(0);
    assert_eq!(
        (ended.stdout.as_str(), fake.request_count()),
        ("[rehearsal] as rehearsed\n", 0)
    );
}

#[tokio::test]
async fn answer_is_redacted_on_the_terminal() {
    let (machine, fake) = answering([Reply::text(format!(
        "a\u{1b}[2J\u{1b}]0;title\u{7}b {CANARY}-key c"
    ))])
    .await;
    let ended = run(&mut machine.ars_with(&fake.url(), &["ask", "hi"])).await;
    ended.assert_code(0);
    assert_eq!(ended.stdout, "ab [redacted] c\n");
}

#[tokio::test]
async fn closed_pipe_does_not_fail_the_run() {
    let (machine, fake) = answering([Reply::text("a long answer\n".repeat(20_000))]).await;
    let mut child = machine
        .ars_with(&fake.url(), &["ask", "hi"])
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().await.unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(!stderr.contains("panicked"), "{stderr}");
    assert_eq!(machine.record().await["status"], "completed");
}

/// No model is configured.
#[tokio::test]
async fn command_needs_no_model() {
    let machine = Machine::new();
    let shown = run(&mut machine.ars(&["ask", "config show"])).await;
    shown.assert_code(0);
    assert!(
        shown.stdout.starts_with("In effect here: `general`"),
        "{}",
        shown.stdout
    );
    let reported = run(&mut machine.ars(&["ask", "--json", "friction report"])).await;
    reported.assert_code(0);
    let answer: Value = serde_json::from_str(&reported.stdout).unwrap();
    assert_eq!(answer["run"]["status"], "completed");
    let record = machine.record().await;
    assert_eq!(
        (&record["agent"], &record["id"]),
        (&json!("command"), &answer["run"]["id"])
    );
    let malformed = run(&mut machine.ars(&["ask", "config show --bogus"])).await;
    malformed.assert_code(1);
    assert!(
        malformed
            .stderr
            .contains("error (refused): ⚠️ `config show`: "),
        "{}",
        malformed.stderr
    );
}

/// The thread is named like a subcommand, and a pipe can be read once.
#[tokio::test]
async fn configuration_is_read_once_from_a_pipe() {
    let (machine, fake) = answering([Reply::text("At your service.")]).await;
    let config = machine.path("config.toml");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &config,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    let path = config.clone();
    // A single writer: a second reader would wait for another.
    let written = tokio::task::spawn_blocking(move || {
        std::fs::write(path, "[defaults]\nmodel = \"anthropic/claude-piped\"\n")
    });
    let arguments = [
        "ask",
        "hi",
        "--thread",
        "help",
        "--config",
        config.to_str().unwrap(),
    ];
    let ended = run(&mut machine.ars_with(&fake.url(), &arguments)).await;
    ended.assert_code(0);
    written.await.unwrap().unwrap();
    assert_eq!(fake.requests()[0].body["model"], "claude-piped");
}
