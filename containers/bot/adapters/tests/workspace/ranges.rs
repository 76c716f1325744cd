//! Tests the core's git calls, and the reading diff and digest for reviews.

use std::time::Duration;

use ars_bot_ports::{GitAnswer, GitRequest, Workspace};
use ars_bot_tools::{RunFacilities, ToolContext, ToolOutput, Toolset, review::reading_diff};
use ars_events::{EventBody, Redactor};
use ars_types::RefName;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{World, git, must, opened, world};

async fn ask(workspace: &dyn Workspace, arguments: &[&str], output_limit: usize) -> GitAnswer {
    let request = GitRequest {
        arguments,
        output_limit,
    };
    workspace
        .git(request, &CancellationToken::new())
        .await
        .unwrap()
}

async fn open_topic(world: &World) -> std::sync::Arc<dyn Workspace> {
    let origin = world.origin().display().to_string();
    world
        .open_at("t", &origin, Some("topic"), &CancellationToken::new())
        .await
        .unwrap()
}

async fn diff(workspace: &dyn Workspace, base: Option<&str>) -> Option<(String, String)> {
    let base = base.map(|name| RefName::parse(name).unwrap());
    let redactor = Redactor::default();
    let artifact = reading_diff(
        workspace,
        base.as_ref(),
        None,
        &redactor,
        &CancellationToken::new(),
    )
    .await?;
    let EventBody::ReviewArtifact {
        base_ref,
        diff,
        truncated,
        ..
    } = artifact
    else {
        panic!("{artifact:?}")
    };
    assert!(!truncated);
    Some((base_ref, diff))
}

async fn digest(workspace: &dyn Workspace, input: Value) -> ToolOutput {
    let tools = Toolset::Readonly.tools();
    let tool = tools
        .iter()
        .find(|tool| tool.spec().name == "diff_digest")
        .unwrap();
    let cancel = CancellationToken::new();
    let context = ToolContext {
        workspace: Some(workspace),
        web: None,
        remaining: Duration::from_secs(60),
        cancel: &cancel,
        run: RunFacilities::bare("review"),
    };
    tool.run(context, &input).await
}

#[tokio::test]
async fn git_is_called_without_a_shell() {
    let (world, workspace) = opened().await;
    let head = workspace.head().await.unwrap().unwrap();
    let answer = ask(&*workspace, &["rev-parse", "HEAD"], 1_000).await;
    assert_eq!(
        answer,
        GitAnswer {
            exit_code: 0,
            output: format!("{head}\n").into(),
            truncated: false
        }
    );
    let cut = ask(&*workspace, &["rev-parse", "HEAD"], 7).await;
    assert_eq!(
        cut,
        GitAnswer {
            exit_code: 0,
            output: head[..7].into(),
            truncated: true
        }
    );
    let odd = ask(
        &*workspace,
        &["rev-parse", "--verify", "HEAD; touch made; $(touch made)"],
        1_000,
    )
    .await;
    assert_ne!(odd.exit_code, 0);
    assert!(!world.tree().join("made").exists());
}

#[tokio::test]
async fn reading_diff_has_the_branch_commits() {
    let world = world();
    let workspace = open_topic(&world).await;
    workspace.write("uncommitted.txt", b"x\n").await.unwrap();
    let (base, text) = diff(&*workspace, Some("main")).await.unwrap();
    assert_eq!(base, "origin/main");
    assert!(
        text.starts_with("diff --git a/topic.txt b/topic.txt\n") && text.ends_with("\n+topic\n"),
        "{text}"
    );
    assert_eq!(
        diff(&*workspace, None).await,
        Some(("origin/HEAD".into(), text.clone()))
    );
    assert_eq!(
        diff(&*workspace, Some("no-such-branch")).await,
        Some(("origin/HEAD".into(), text))
    );
}

#[tokio::test]
async fn the_range_begins_where_the_branches_parted() {
    let world = world();
    let origin = world.origin();
    std::fs::write(origin.join("later.txt"), "later\n").unwrap();
    git(&origin, &["add", "."]);
    git(&origin, &["commit", "-qm", "third"]);
    let address = origin.display().to_string();
    let workspace = world
        .open_at("t", &address, Some("topic"), &CancellationToken::new())
        .await
        .unwrap();
    let (_, text) = diff(&*workspace, Some("main")).await.unwrap();
    assert!(text.contains("+topic") && !text.contains("later"), "{text}");
}

#[tokio::test]
async fn branch_without_changes_has_no_reading_diff() {
    let (_world, workspace) = opened().await;
    assert_eq!(diff(&*workspace, Some("main")).await, None);
    must(
        &*workspace,
        "git checkout -q --orphan alone && git commit -qm alone",
    )
    .await;
    assert_eq!(diff(&*workspace, Some("main")).await, None);
    must(&*workspace, "rm -rf .git").await;
    assert_eq!(diff(&*workspace, Some("main")).await, None);
}

#[tokio::test]
async fn range_ignores_repository_settings() {
    let world = world();
    let workspace = open_topic(&world).await;
    let plain = diff(&*workspace, Some("main")).await;
    must(
        &*workspace,
        "git config diff.noprefix true; git config color.ui always; git config diff.external 'touch made;'; \
         git config diff.odd.textconv 'touch made;'; echo '* diff=odd' > .gitattributes",
    )
    .await;
    assert_eq!(diff(&*workspace, Some("main")).await, plain);
    assert!(!world.tree().join("made").exists());
}

#[tokio::test]
async fn digest_shows_no_code() {
    let world = world();
    let workspace = open_topic(&world).await;
    must(
        &*workspace,
        "mkdir -p db/migrations tests && seq 20 > db/migrations/1.sql && printf 'a\\0b' > logo.png && \
         seq 600 > 'odd\tname' && echo 2 >> src/lib.txt && git mv topic.txt subject.txt && git add . && \
         git commit -qm work",
    )
    .await;
    let output = digest(&*workspace, json!({"base": "main"})).await;
    let expected = "Since origin/main: 5 files, +622 -0 lines.\n\n\
                    Risks:\n- migrations: db/migrations/1.sql\n- binary: logo.png\n- large: odd\u{fffd}name\n\n\
                    Files:\nA +600 -0 odd\u{fffd}name\nA +20 -0 db/migrations/1.sql\nM +1 -0 src/lib.txt\n\
                    A +1 -0 subject.txt\nA binary logo.png\n";
    assert_eq!(output, ToolOutput::text(expected));
    let since_topic = digest(&*workspace, json!({"base": "origin/topic"})).await;
    let renamed = format!("{since_topic:?}");
    assert!(
        renamed.contains("R +0 -0 subject.txt (was topic.txt)"),
        "{renamed}"
    );
}

#[tokio::test]
async fn a_digest_needs_a_base_that_is_there() {
    let world = world();
    let workspace = open_topic(&world).await;
    let same = digest(&*workspace, json!({"base": "topic"})).await;
    assert_eq!(
        same,
        ToolOutput::text("Nothing is committed here that origin/topic does not have.")
    );
    let by_commit = workspace.head().await.unwrap().unwrap();
    assert!(digest(&*workspace, json!({"base": by_commit})).await.ok);
    for bad in ["nowhere", "--output=made", "a..b", "main; touch made"] {
        let output = digest(&*workspace, json!({"base": bad})).await;
        assert!(
            !output.ok && !format!("{output:?}").contains(bad),
            "{output:?}"
        );
    }
    assert!(!world.tree().join("made").exists());
}
