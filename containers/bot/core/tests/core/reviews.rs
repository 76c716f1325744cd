//! Reviews from the request to the record: skills, instructions, verdict, first line and reading diff.

use std::{sync::Arc, time::Duration};

use ars_agent::Budget;
use ars_bot_core::{Capabilities, settings::Settings};
use ars_bot_ports::{ModelErrorKind, Skill, Skills};
use ars_types::RunStatus;
use serde_json::{Value, json};

use crate::support::*;

struct OneSkill;

impl Skills for OneSkill {
    fn list(&self, agent: &str) -> Vec<Arc<Skill>> {
        self.get("quality")
            .into_iter()
            .filter(|skill| skill.is_for(agent))
            .collect()
    }

    fn get(&self, name: &str) -> Option<Arc<Skill>> {
        (name == "quality").then(|| {
            Arc::new(Skill {
                name: "quality".into(),
                description: "reading for upkeep".into(),
                agents: vec!["review".into()],
                source: None,
                upstream: None,
                body: "Read it twice.".into(),
            })
        })
    }
}

fn verdict(word: &str, summary: &str) -> (&'static str, Value) {
    (
        "submit_verdict",
        json!({"verdict": word, "summary": summary, "head": "abc1234"}),
    )
}

/// Returns the only reply and the record's outline.
async fn review(world: &World) -> (String, Vec<String>) {
    let io = world.ask("agent:review repo:acme/app look at it").await;
    let replies = io.said();
    let [reply] = &replies[..] else {
        panic!("not one reply: {replies:?}")
    };
    (reply.clone(), outline(&world.last_record()))
}

#[tokio::test]
async fn review_ends_with_verdict_and_diff() {
    let world = world(vec![
        Move::Ask(vec![verdict("approve", "fine")]),
        Move::Ask(vec![verdict("request_changes", "it\nleaks")]),
        Move::Say("LGTM: no findings."),
    ]);
    *world.workspace.range.lock().unwrap() = Some("+canary-value\n".into());
    let (reply, outline) = review(&world).await;
    assert_eq!(reply, "Changes requested: it leaks\n\nLGTM: no findings.");
    assert_eq!(outline[outline.len() - 2..], ["review_artifact", "answer"]);
    let record = world.last_record();
    let artifact = record
        .events
        .iter()
        .find(|event| event["type"] == "review_artifact")
        .unwrap();
    assert_eq!(artifact["baseRef"], "origin/HEAD");
    assert_eq!(
        (&artifact["diff"], &artifact["poweredBy"]),
        (&json!("+[redacted]\n"), &json!("git"))
    );
    let answer = record
        .events
        .iter()
        .find(|event| event["type"] == "answer")
        .unwrap();
    assert_eq!(answer["text"], json!(reply));
}

#[tokio::test]
async fn review_has_spans() {
    let world = world(vec![Move::Say("Fine.")]);
    review(&world).await;
    let record = world.last_record();
    let parts = [
        ("dispatch.history", "request"),
        ("dispatch.admission", "request"),
        ("dispatch.workspace.attach", "request"),
        ("dispatch.repo_context", "request"),
        ("dispatch.compose", "request"),
        ("run.agent", "request"),
        ("run.reading_diff", "run.agent"),
        ("run.observe_workspace", "run.agent"),
        ("post.reply", "request"),
    ];
    for (name, whole) in parts {
        assert_eq!(parents(&record, name), [whole], "{name}");
        let ends = record
            .events
            .iter()
            .filter(|event| event["type"] == "span_end" && event["name"] == name);
        assert!(ends.map(|end| &end["status"]).eq(["ok"]), "{name}");
    }
}

#[tokio::test]
async fn no_workspace_span_without_repository() {
    let world = world(vec![Move::Say("hi")]);
    world.ask("hello").await;
    let record = world.last_record();
    for name in [
        "dispatch.workspace.attach",
        "dispatch.repo_context",
        "run.reading_diff",
        "run.observe_workspace",
    ] {
        assert!(parents(&record, name).is_empty(), "{name}");
    }
    assert_eq!(parents(&record, "dispatch.compose"), ["request"]);
}

#[tokio::test]
async fn review_without_verdict_is_not_approved() {
    let world = world(vec![Move::Say("Looks good to me.")]);
    let (reply, outline) = review(&world).await;
    assert_eq!(
        reply,
        "Not approved: the review gave no verdict.\n\nLooks good to me."
    );
    assert!(
        !outline.contains(&"review_artifact".to_owned()),
        "{outline:?}"
    );
}

#[tokio::test]
async fn failed_review_is_not_approved() {
    let world = world(vec![
        Move::Ask(vec![verdict("approve", "fine")]),
        Move::Fail(ModelErrorKind::Invalid),
    ]);
    let (reply, _) = review(&world).await;
    assert!(
        reply.starts_with("Not approved: ") && !reply.contains("LGTM"),
        "{reply}"
    );
    assert_eq!(world.last_record().status, RunStatus::Failed);
}

#[tokio::test]
async fn approval_is_void_after_a_budget() {
    let moves = vec![
        Move::Ask(vec![verdict("approve", "fine")]),
        Move::Say("LGTM so far."),
    ];
    let world = world_of(moves, Capabilities::default(), |settings| Settings {
        budgets: [(
            "review".to_owned(),
            Budget {
                turns: 1,
                time_ms: 5 * 60_000,
            },
        )]
        .into(),
        ..settings
    });
    let (reply, _) = review(&world).await;
    assert!(
        reply.starts_with("Not approved: the review did not come to its end.\n"),
        "{reply}"
    );
    assert_eq!(world.last_record().status, RunStatus::Completed);
}

#[tokio::test]
async fn an_approval_of_another_commit_does_not_count() {
    let approval = (
        "submit_verdict",
        json!({"verdict": "approve", "summary": "fine", "head": "fffffff"}),
    );
    let world = world(vec![Move::Ask(vec![approval]), Move::Say("Fine.")]);
    let (reply, _) = review(&world).await;
    assert!(
        reply.starts_with("Not approved: the verdict is on another commit"),
        "{reply}"
    );
}

#[tokio::test(start_paused = true)]
async fn hanging_diff_keeps_the_answer() {
    let world = world(vec![
        Move::Ask(vec![verdict("approve", "fine")]),
        Move::Say("Fine."),
    ]);
    *world.workspace.range.lock().unwrap() = Some("hang".into());
    let reviewed = tokio::time::timeout(Duration::from_secs(30), review(&world)).await;
    let (reply, outline) = reviewed.expect("the review answers in time");
    assert!(reply.starts_with("LGTM: fine\n"), "{reply}");
    assert!(
        !outline.contains(&"review_artifact".to_owned()),
        "{outline:?}"
    );
    let record = world.last_record();
    let mut spans = record
        .events
        .iter()
        .filter(|event| event["name"] == "run.reading_diff");
    assert_eq!(spans.next_back().unwrap()["error"], "cancelled");
    assert_eq!(parents(&record, "run.reading_diff_join"), ["run.agent"]);
}

#[tokio::test]
async fn other_agents_have_no_status_line() {
    let world = world(vec![Move::Say("Done.")]);
    let io = world.ask("agent:coding repo:acme/app do it").await;
    assert_eq!(io.said(), ["Done."]);
}

#[tokio::test]
async fn skill_event_precedes_the_result() {
    let capabilities = Capabilities {
        skills: Some(Arc::new(OneSkill)),
        ..Capabilities::default()
    };
    let use_it = || Move::Ask(vec![("use_skill", json!({"name": "quality"}))]);
    let world = world_with(
        vec![use_it(), Move::Say("Read."), use_it(), Move::Say("Done.")],
        capabilities,
    );
    let (_, outline) = review(&world).await;
    let at = outline
        .iter()
        .position(|event| event == "skill_use")
        .unwrap();
    assert_eq!(
        outline[at - 1..=at + 1],
        ["tool_call use_skill", "skill_use", "tool_result use_skill"]
    );
    let system = world.model.system.lock().unwrap().clone();
    assert!(
        system.contains("\n- quality: reading for upkeep") && !system.contains("twice"),
        "{system}"
    );

    world.ask("agent:coding repo:acme/app do it").await;
    let record = world.last_record();
    let told = record
        .events
        .iter()
        .any(|event| event["type"] == "skill_use");
    let refused = record
        .events
        .iter()
        .any(|event| event["type"] == "tool_result" && event["ok"] == false);
    assert!(refused && !told);
    assert!(!world.model.system.lock().unwrap().contains("quality"));
}

#[tokio::test]
async fn repository_instructions_are_in_the_prompt() {
    // Each workspace file contains its own name.
    let world = world(vec![Move::Say("Done.")]);
    world.ask("agent:coding repo:acme/app do it").await;
    let system = world.model.system.lock().unwrap().clone();
    assert!(
        system.contains("\n<untrusted-text>\nAGENTS.md\n</untrusted-text>"),
        "{system}"
    );
}
