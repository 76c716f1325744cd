//! Replaces a running bot: another build and other tokens replace it. Another secret waits until
//! the next start, because the environment is computed at startup.

use std::fs;

use ars_tests_workerd::{Running, edge_worker_build};
use ars_workerd::Settings;
use serde_json::json;
use tempfile::TempDir;

use crate::engine::Behavior;
use crate::lifecycle::{TOKENS, number, request_until, restart, world};

/// Digits in a commit's name.
const COMMIT_DIGITS: usize = 40;

#[test]
fn restart_uses_the_current_environment() {
    let (engine, mut edge) = world(Behavior::Graceful);
    edge.deploy(|settings| settings.secret("MEMORY_TOKEN", "old"));
    assert_eq!(number(&edge), json!(1));
    edge.deploy(|mut settings| {
        settings.secrets.retain(|(name, _)| name != "MEMORY_TOKEN");
        settings
            .secret("MEMORY_TOKEN", "new")
            .secret("BRAVE_SEARCH_API_KEY", "added")
    });
    assert_eq!(
        number(&edge),
        json!(1),
        "such a secret alone replaces nothing"
    );
    let answer = restart(&edge, &json!({}));
    assert_eq!(
        (answer.status, &answer.body["previousStartedAt"]),
        (202, &json!("t1")),
        "{answer:?}"
    );
    engine.until("a second container", |state| state.started.len() == 2);
    let state = engine.state();
    let has = |index: usize, line: &str| state.started[index].iter().any(|found| found == line);
    assert!(
        has(0, "MEMORY_TOKEN=old") && has(1, "MEMORY_TOKEN=new"),
        "{state:?}"
    );
    assert!(
        has(1, "BRAVE_SEARCH_API_KEY=added") && !has(0, "BRAVE_SEARCH_API_KEY=added"),
        "{state:?}"
    );
}

#[test]
fn bot_with_other_tokens_is_replaced() {
    let (engine, mut edge) = world(Behavior::Graceful);
    let first = r#"{"good":{"subject":"ann"}}"#;
    let tokens = |tokens: &str| {
        let tokens = tokens.to_owned();
        move |mut settings: Settings| {
            settings
                .secrets
                .retain(|(name, _)| name != "SERVICE_INGRESS_TOKENS");
            settings.secret("SERVICE_INGRESS_TOKENS", &tokens)
        }
    };
    edge.deploy(tokens(first));
    assert_eq!(number(&edge), json!(1));
    edge.deploy(tokens(first));
    assert_eq!(
        number(&edge),
        json!(1),
        "the same tokens again replace nothing"
    );
    edge.deploy(tokens(TOKENS));
    request_until(&edge, "the next bot", |answer| {
        answer.body["number"] == json!(2)
    });
    let state = engine.state();
    assert_eq!(
        (state.started.len(), state.signals.as_slice()),
        (2, ["SIGTERM".to_owned()].as_slice())
    );
    let has = |index: usize, tokens| {
        state.started[index].contains(&format!("SERVICE_INGRESS_TOKENS={tokens}"))
    };
    assert!(has(0, first) && has(1, TOKENS), "{state:?}");
}

#[test]
fn without_an_image_the_build_is_the_version() {
    let (engine, mut edge) = world(Behavior::Graceful);
    let first = Build::new(&edge);
    let second = Build::new(&edge);
    second.change_commit();
    // As deployed: without the variable that only local runs have.
    let deploy = |edge: &mut Running, build: &Build| {
        let modules = build.dir.path().to_owned();
        edge.deploy(|mut settings| {
            settings.secrets.retain(|(name, _)| name != "BOT_IMAGE");
            Settings {
                modules,
                ..settings
            }
        });
    };
    deploy(&mut edge, &first);
    assert_eq!(number(&edge), json!(1));
    deploy(&mut edge, &first);
    assert_eq!(
        number(&edge),
        json!(1),
        "the same build again replaces nothing"
    );
    deploy(&mut edge, &second);
    request_until(&edge, "the next bot", |answer| {
        answer.body["number"] == json!(2)
    });
    assert_eq!(engine.state().signals, ["SIGTERM"]);
}

/// A copy of the Worker's modules.
struct Build {
    dir: TempDir,
}

impl Build {
    fn new(edge: &Running) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for module in fs::read_dir(edge.modules()).unwrap().map(Result::unwrap) {
            if module.file_type().unwrap().is_file() {
                fs::copy(module.path(), dir.path().join(module.file_name())).unwrap();
            }
        }
        Self { dir }
    }

    /// Changes the commit, the only difference between builds from the same sources.
    fn change_commit(&self) {
        let path = self.dir.path().join("index_bg.wasm");
        let mut wasm = fs::read(&path).unwrap();
        let commit_name = edge_worker_build().commit.as_deref().unwrap();
        let commit = &commit_name.as_bytes()[..COMMIT_DIGITS];
        let places: Vec<_> = (0..wasm.len())
            .filter(|place| wasm[*place..].starts_with(commit))
            .collect();
        assert!(!places.is_empty(), "the Worker does not know its commit");
        for place in places {
            wasm[place] = if wasm[place] == b'0' { b'1' } else { b'0' };
        }
        fs::write(&path, wasm).unwrap();
    }
}
