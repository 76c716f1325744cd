//! Memory around whole runs: recall before the first call, reflection after the reply.

use std::sync::Arc;

use ars_agent::Role;
use ars_bot_core::{
    Capabilities,
    memory::{Budget, MemoryDeps},
    settings::Settings,
};
use ars_bot_ports::{Memory, ModelErrorKind, Repository};
use ars_settings::Scope;
use ars_types::{Platform, RunStatus};
use ars_wire::memory::Taint;
use serde_json::{Value, json};

use super::support::Stores;
use crate::support::*;

const REFLECTION: &str =
    r#"{"facts": [{"text": "Tests run by make", "confidence": 0.9, "audience": "org"}]}"#;

/// A core with memory for acme.
fn remembering(stores: &Arc<Stores>, moves: Vec<Move>) -> World {
    remembering_of(stores, moves, |settings| settings)
}

/// The same with other settings.
fn remembering_of(
    stores: &Arc<Stores>,
    moves: Vec<Move>,
    change: impl FnOnce(Settings) -> Settings,
) -> World {
    let store: Arc<dyn Memory> = Arc::<Stores>::clone(stores);
    let memory = MemoryDeps {
        store,
        organization: Some("acme".into()),
        budget: Budget::default(),
        model: None,
    };
    let capabilities = Capabilities {
        memory: Some(memory),
        ..Capabilities::default()
    };
    world_of(moves, capabilities, change)
}

fn systems_of(world: &World) -> String {
    world.model.system.lock().unwrap().clone()
}

/// A run with a tool call, which is reflected on.
fn working(answer: &'static str, reflection: &'static str) -> Vec<Move> {
    vec![
        Move::Ask(vec![bash("make check")]),
        Move::Say(answer),
        Move::Say(reflection),
    ]
}

#[tokio::test]
async fn recalled_block_precedes_the_prompt() {
    let without = world(vec![Move::Say("Friday.")]);
    without.ask("When are deploys?").await;
    let stores = Arc::new(Stores::default());
    let nothing = remembering(&stores, vec![Move::Say("Friday.")]);
    nothing.ask("When are deploys?").await;
    assert_eq!(
        systems_of(&nothing),
        systems_of(&without),
        "nothing matches: not a byte differs"
    );

    stores
        .remember("org:acme", &["Deploys run on Friday"])
        .await;
    let told = remembering(&stores, vec![Move::Say("Friday.")]);
    told.ask("When are deploys?").await;
    let (block, prompt) = (systems_of(&told), systems_of(&without));
    let block = block.strip_suffix(&format!("\n\n{prompt}")).unwrap();
    assert!(
        block.starts_with("Memory (org). ") && block.ends_with("</memory>"),
        "{block}"
    );
    assert!(
        block.contains("\n- Deploys run on Friday (from slack:C9:1)\n"),
        "{block}"
    );
}

#[tokio::test]
async fn recall_is_a_span() {
    let read = |world: &World| {
        let events = world.last_record().events;
        events
            .iter()
            .filter(|event| event["name"] == "dispatch.memory_read")
            .count()
    };
    let stores = Arc::new(Stores::default());
    let with = remembering(&stores, vec![Move::Say("Friday.")]);
    with.ask("When are deploys?").await;
    let without = world(vec![Move::Say("Friday.")]);
    without.ask("When are deploys?").await;
    assert_eq!((read(&with), read(&without)), (2, 0));
}

#[tokio::test]
async fn reflection_reaches_the_next_run() {
    let stores = Arc::new(Stores::default());
    let reflection = r#"{"facts": [{"text": "Tests run by make check", "confidence": 0.9, "audience": "user"}]}"#;
    let first = remembering(&stores, working("Run make check.", reflection));
    let io = first
        .ask("agent:coding repo:acme/app How do tests run?")
        .await;
    assert_eq!(io.said(), ["Run make check."]);
    assert_eq!(first.last_record().status, RunStatus::Completed);
    assert_eq!(
        stores.texts("user:http:ann").await,
        ["Tests run by make check"]
    );
    let seen = first.model.seen.lock().unwrap().clone();
    assert_eq!(seen.len(), 3, "one call reflects");
    let question = format!("{:?}", seen[2]);
    assert!(
        question.contains("How do tests run?") && question.contains("Run make check."),
        "{question}"
    );
    // The result is no event in the run.
    assert!(
        !json!(first.last_record())
            .to_string()
            .contains("Tests run by make check")
    );

    let next = remembering(&stores, vec![Move::Say("As ever.")]);
    next.ask("Do the tests run?").await;
    assert!(systems_of(&next).contains("- Tests run by make check (from http:default:default)"));
}

/// The request comes from one account; the other one is the main account.
#[tokio::test]
async fn run_has_the_memory_and_settings_of_its_person() {
    let stores = Arc::new(Stores::default());
    for (account, text) in [
        ("slack:U1", "Friday"),
        ("http:ann", "Monday"),
        ("http:bob", "Sunday"),
    ] {
        let text = format!("Tests run on {text}");
        stores.remember(&format!("user:{account}"), &[&text]).await;
    }
    let person = |mut settings: Settings| {
        settings.people.add(&["slack:U1", "http:ann"]).unwrap();
        let scope = Scope {
            instructions: Some("Answer in rhymes.".to_owned()),
            ..Scope::default()
        };
        settings.scopes.users.insert("slack:U1".to_owned(), scope);
        settings
    };
    let world = remembering_of(&stores, vec![Move::Say("On two days.")], person);
    world.ask("How do tests run?").await;
    let system = systems_of(&world);
    for part in ["run on Friday", "run on Monday", "Answer in rhymes."] {
        assert!(system.contains(part), "{part}: {system}");
    }
    assert!(!system.contains("Sunday"), "{system}");

    let reflection =
        r#"{"facts": [{"text": "Make builds it", "confidence": 0.9, "audience": "user"}]}"#;
    let next = remembering_of(&stores, working("Run make.", reflection), person);
    next.ask("agent:coding repo:acme/app How do tests run?")
        .await;
    let learned = stores.texts("user:slack:U1").await;
    assert!(
        learned.contains(&"Make builds it".to_owned()),
        "{learned:?}"
    );
    assert_eq!(stores.texts("user:http:ann").await, ["Tests run on Monday"]);
}

/// A web page, an unconfigured repository, and a record from such a run. The last run read none.
#[tokio::test]
async fn untrusted_sources_taint_a_run() {
    let fetch = ("web_fetch", json!({ "url": "http://[::1]/" }));
    for (text, call, repository, recalled, taint) in [
        ("agent:research Tea?", fetch, None, vec![], vec![Taint::Web]),
        // The tree comes from a run without a record.
        (
            "agent:coding Tea?",
            bash("make"),
            Some("else/where"),
            vec![],
            vec![Taint::Repository, Taint::Thread],
        ),
        (
            "agent:general Tea?",
            bash("make"),
            None,
            vec![Taint::Web],
            vec![Taint::Memory],
        ),
        (
            "agent:coding repo:acme/app Tea?",
            bash("make"),
            None,
            vec![],
            vec![],
        ),
    ] {
        let stores = Arc::new(Stores::default());
        stores
            .remember_of("user:http:ann", "Likes tea", recalled)
            .await;
        let world = remembering(
            &stores,
            vec![
                Move::Ask(vec![call]),
                Move::Say("Done."),
                Move::Say(REFLECTION),
            ],
        );
        *world.workspace.own.lock().unwrap() = repository.map(|name| Repository {
            name: name.into(),
            origin: "/app".into(),
        });
        world.ask(text).await;
        let scope = if taint.is_empty() {
            "org:acme"
        } else {
            "user:http:ann"
        };
        let record = stores.all(scope).await.remove(0);
        assert_eq!(
            (record.text.as_str(), &record.taint),
            ("Tests run by make", &taint)
        );
        assert_eq!(stores.all("org:acme").await.is_empty(), !taint.is_empty());
    }
}

/// Runs twice in a thread, and returns the second run's sources. It has a history, and only
/// harmless tools.
async fn sources_of_a_second_run(
    first: (&'static str, Value),
    change: impl FnOnce(&World),
) -> Vec<Taint> {
    let stores = Arc::new(Stores::default());
    let reflections = [Move::Say(r#"{"facts": []}"#), Move::Say(REFLECTION)];
    let calls = [first, bash("make")];
    let moves = calls.into_iter().zip(reflections);
    let moves = moves
        .flat_map(|(call, reflection)| [Move::Ask(vec![call]), Move::Say("Done."), reflection]);
    let world = remembering(&stores, moves.collect());
    world.ask("agent:research Tea?").await;
    change(&world);
    let history = vec![said(Role::User, "Tea?"), said(Role::Assistant, "Done.")];
    let io = Arc::new(RecordingChannel {
        history,
        ..RecordingChannel::default()
    });
    world.dispatch("agent:coding repo:acme/app Tea?", &io).await;
    world.settle().await;
    let sources = world.last_record().extra["taint"].clone();
    let is_open = !stores.all("org:acme").await.is_empty();
    let sources: Vec<Taint> = serde_json::from_value(sources).unwrap();
    assert_eq!(is_open, sources.is_empty());
    sources
}

#[tokio::test]
async fn thread_keeps_its_taint() {
    let fetch = || ("web_fetch", json!({ "url": "http://[::1]/" }));
    assert_eq!(
        sources_of_a_second_run(fetch(), |_| {}).await,
        [Taint::Thread]
    );
    assert_eq!(sources_of_a_second_run(bash("make"), |_| {}).await, []);
}

#[tokio::test]
async fn unknown_taint_counts_as_one() {
    let forget = |world: &World| {
        world
            .store
            .puts
            .lock()
            .unwrap()
            .iter_mut()
            .for_each(|record| drop(record.extra.remove("taint")));
    };
    assert_eq!(
        sources_of_a_second_run(bash("make"), forget).await,
        [Taint::Thread]
    );
    let lose = |world: &World| world.store.puts.lock().unwrap().clear();
    assert_eq!(
        sources_of_a_second_run(bash("make"), lose).await,
        [Taint::Thread]
    );
}

/// Runs a request in memory with a code host, and returns the sources.
async fn sources_with_host(text: &str, moves: Vec<Move>, io: RecordingChannel) -> Value {
    let host = Arc::new(MemoryHost::default());
    *host.diff.lock().unwrap() = Some("+Deploys are safe on Fridays.\n".into());
    let store: Arc<dyn Memory> = Arc::new(Stores::default());
    let memory = MemoryDeps {
        store,
        organization: Some("acme".into()),
        budget: Budget::default(),
        model: None,
    };
    let capabilities = Capabilities {
        memory: Some(memory),
        ..Capabilities::default()
    };
    let world = world_with(moves, with_host(&host)(capabilities));
    world
        .workspace
        .remote
        .set("https://github.com/acme/app".into())
        .unwrap();
    world.dispatch(text, &Arc::new(io)).await;
    world.settle().await;
    assert_eq!(world.last_record().status, RunStatus::Completed);
    world.last_record().extra["taint"].clone()
}

/// The thread's next run inherits it, as from every record with a source.
#[tokio::test]
async fn review_of_a_pull_request_taints_its_thread() {
    let verdict = json!({ "verdict": "approve", "summary": "fine", "head": "a".repeat(40) });
    let moves = || {
        vec![
            Move::Ask(vec![("submit_verdict", verdict.clone())]),
            Move::Say("LGTM."),
        ]
    };
    let review = "agent:review repo:acme/app acme/app#7 post:off";
    assert_eq!(
        sources_with_host(review, moves(), RecordingChannel::default()).await,
        json!(["host"])
    );
    let of_tree = "agent:review repo:acme/app the tree post:off";
    assert_eq!(
        sources_with_host(of_tree, moves(), RecordingChannel::default()).await,
        json!([])
    );
}

#[tokio::test]
async fn message_of_the_code_host_taints_its_run() {
    let ask = |platform: Platform| async move {
        let io = RecordingChannel {
            traits: platform.channel_traits(),
            ..RecordingChannel::default()
        };
        sources_with_host("agent:general Tea?", vec![Move::Say("Yes.")], io).await
    };
    assert_eq!(
        (ask(Platform::CodeHost).await, ask(Platform::Http).await),
        (json!(["host"]), json!([]))
    );
}

#[tokio::test]
async fn failing_memory_does_not_fail_runs() {
    for reflection in [
        Move::Say("not JSON"),
        Move::Fail(ModelErrorKind::Unauthorized),
        Move::Say(r#"{"facts": [{"text": "CI is red", "confidence": 1}]}"#),
    ] {
        let stores = Arc::new(Stores::default());
        stores
            .down
            .lock()
            .unwrap()
            .extend(["org:acme", "user:http:ann", "channel:http:default"]);
        let moves = vec![
            Move::Ask(vec![bash("make")]),
            Move::Say("Done."),
            reflection,
        ];
        let world = remembering(&stores, moves);
        let io = world.ask("agent:coding repo:acme/app Make it").await;
        assert_eq!(io.said(), ["Done."]);
        assert_eq!(world.last_record().status, RunStatus::Completed);
    }
}

#[tokio::test]
async fn long_conversation_is_reflected_on() {
    let stores = Arc::new(Stores::default());
    let world = remembering(
        &stores,
        vec![Move::Say("Tabs."), Move::Say(r#"{"facts": []}"#)],
    );
    let history = [Role::User, Role::Assistant]
        .repeat(2)
        .into_iter()
        .map(|role| said(role, "So we said."))
        .collect();
    let io = Arc::new(RecordingChannel {
        history,
        ..RecordingChannel::default()
    });
    world.dispatch("Tabs or spaces?", &io).await;
    world.settle().await;
    assert_eq!(world.model.seen.lock().unwrap().len(), 2);
}
