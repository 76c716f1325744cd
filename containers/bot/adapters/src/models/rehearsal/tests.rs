//! Tests the rehearsal: replay, conditions, the end, and invalid scripts.

use std::sync::Mutex;

use serde_json::json;

use super::*;

const SCRIPT: &str = r#"
[[turn]]
text = "I run the tests."
[[turn.call]]
tool = "bash"
input = { command = "cargo test" }

[[turn]]
when_last_result_contains = "FAILED"
[[turn.call]]
tool = "edit_file"
input = { path = "src/lib.rs", old = "-", new = "+" }
[[turn.call]]
tool = "bash"
input = { command = "cargo test" }

[[turn]]
when_last_result_lacks = "FAILED"
text = "All tests pass."

[[turn]]
when_last_result_contains = "FAILED"
text = "Some tests still fail."
"#;

fn rehearsal() -> Rehearsal {
    Rehearsal {
        script: Script::from_toml(SCRIPT).unwrap(),
    }
}

/// Runs the rehearsal with tools that return `outputs`, and returns the texts and calls.
fn play(rehearsal: &Rehearsal, turns: &mut Vec<Turn>, outputs: &[&str]) -> Vec<String> {
    let mut outputs = outputs.iter();
    let mut log = Vec::new();
    loop {
        let parts = rehearsal.answer(turns, true);
        let mut results = Vec::new();
        for part in &parts {
            match part {
                Part::Text { text, .. } => log.push(text.clone()),
                Part::ToolCall { call_id, name, .. } => {
                    log.push(name.clone());
                    let text = (*outputs.next().unwrap()).to_owned();
                    let content = vec![ToolContent::Text { text }];
                    results.push(Part::ToolResult {
                        call_id: call_id.clone(),
                        ok: true,
                        content,
                    });
                }
                other => panic!("{other:?}"),
            }
        }
        turns.push(Turn {
            role: Role::Assistant,
            parts,
        });
        if results.is_empty() {
            return log;
        }
        results.push(Part::text("a hint of the loop is not a request"));
        turns.push(Turn {
            role: Role::User,
            parts: results,
        });
    }
}

#[test]
fn the_script_reacts_to_what_the_tools_say() {
    let opening = || vec![Turn::text(Role::User, "fix it")];
    let passes = play(&rehearsal(), &mut opening(), &["ok"]);
    assert_eq!(
        passes,
        [
            "[rehearsal] I run the tests.",
            "bash",
            "[rehearsal] All tests pass."
        ]
    );
    let fixed = play(&rehearsal(), &mut opening(), &["1 FAILED", "edited", "ok"]);
    assert_eq!(
        fixed[2..],
        ["edit_file", "bash", "[rehearsal] All tests pass."]
    );
    let stuck = play(
        &rehearsal(),
        &mut opening(),
        &["1 FAILED", "edited", "1 FAILED"],
    );
    assert_eq!(stuck.last().unwrap(), "[rehearsal] Some tests still fail.");
}

#[test]
fn new_request_restarts_the_script() {
    let mut turns = vec![Turn::text(Role::User, "fix it")];
    play(&rehearsal(), &mut turns, &["ok"]);
    turns.push(Turn::text(Role::User, "again"));
    let again = play(&rehearsal(), &mut turns, &["ok"]);
    assert_eq!(again[0], "[rehearsal] I run the tests.");
    let ids = turns
        .iter()
        .flat_map(|turn| &turn.parts)
        .filter_map(|part| match part {
            Part::ToolCall { call_id, .. } => Some(call_id),
            _ => None,
        });
    let ids: Vec<_> = ids.collect();
    assert_eq!(ids.len(), 2);
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn a_script_that_is_over_says_so() {
    let script =
        Script::from_toml("[[turn]]\nwhen_request_contains = \"deploy\"\ntext = \"x\"").unwrap();
    let parts = Rehearsal { script }.answer(&[Turn::text(Role::User, "fix it")], true);
    assert_eq!(parts, [Part::text("[rehearsal] The script has ended.")]);
}

#[test]
fn a_closing_call_calls_no_tools() {
    let parts = rehearsal().answer(&[Turn::text(Role::User, "fix it")], false);
    assert_eq!(
        parts,
        [Part::text(
            "[rehearsal] The run is ending before the script has."
        )]
    );
}

#[test]
fn json_is_parsed_like_toml() {
    let json = json!({"turn": [{"call": [{"tool": "list_files"}]}]}).to_string();
    assert_eq!(
        Script::from_json(&json).unwrap().turn[0].call[0].input,
        json!({})
    );
    assert!(matches!(
        Script::from_toml("turn = 1"),
        Err(ScriptError::Malformed(_))
    ));
    assert!(matches!(
        Script::from_toml("[[turn]]\nsays = \"x\""),
        Err(ScriptError::Malformed(_))
    ));
    assert!(matches!(
        Script::from_toml("[[turn]]\ntext = \" \""),
        Err(ScriptError::EmptyTurn(1))
    ));
    assert!(matches!(
        Script::load(Path::new("/nowhere.toml")),
        Err(ScriptError::Unreadable(_))
    ));
}

#[tokio::test]
async fn it_streams_its_words_and_is_labelled() {
    let said = Mutex::new(Vec::new());
    let turns = [Turn::text(Role::User, "fix it")];
    let request = ModelRequest {
        model: "script",
        system: "",
        tools: &[],
        may_call_tools: true,
        turns: &turns,
        max_tokens: 1,
        effort: None,
    };
    let (model, cancel) = (rehearsal(), CancellationToken::new());
    let turn = model
        .turn(request, &|delta| said.lock().unwrap().push(delta), &cancel)
        .await
        .unwrap();
    assert_eq!(turn.stop, StopReason::ToolUse);
    assert_eq!(
        *said.lock().unwrap(),
        [ModelDelta::Text("[rehearsal] I run the tests.".into())]
    );
    assert_eq!(model.label(), Some("rehearsal"));
    cancel.cancel();
    let stopped = model.turn(request, &|_| {}, &cancel).await.unwrap_err();
    assert_eq!(stopped.kind, ModelErrorKind::Cancelled);
}
