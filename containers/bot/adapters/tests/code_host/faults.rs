//! Host faults: which requests are sent again, and how rejections are understood.

use ars_bot_ports::{CodeHost as _, CodeHostError, code_host::NewIssue};
use ars_codehost::answer::Meaning;
use ars_testkit::github::{FakeItem, FakePull, FakeThread, Fault};

use crate::support::{NOW_S, World, app, branch, world};

const REPOSITORY: &str = "GET /repos/acme/app";

#[tokio::test]
async fn passing_faults_of_reads_are_waited_out() {
    for (fault, waits) in [
        (Fault::RateLimited(NOW_S + 30), vec![30]),
        // Half a second of spread is added to the wait.
        (Fault::SecondaryLimited(7), vec![7]),
        (Fault::Unavailable, vec![0]),
        (Fault::Truncated, vec![0]),
    ] {
        let world = world().await;
        world.fake.fail(REPOSITORY, fault);
        assert_eq!(
            world.host.repository(&app()).await.unwrap().default_branch,
            "main",
            "{fault:?}"
        );
        assert_eq!(world.waits.seconds(), waits, "{fault:?}");
    }
}

#[tokio::test]
async fn attempts_and_waits_are_bounded() {
    let world = world().await;
    for _ in 0..9 {
        world.fake.fail(REPOSITORY, Fault::Unavailable);
    }
    let error = world.host.repository(&app()).await.unwrap_err();
    assert!(error.is_passing(), "{error}");
    assert_eq!(world.count(REPOSITORY), 4);
    let world = crate::support::world().await;
    world
        .fake
        .fail(REPOSITORY, Fault::RateLimited(NOW_S + 3_600));
    let error = world.host.repository(&app()).await.unwrap_err();
    assert_eq!(
        error,
        CodeHostError::Answer(Meaning::RateLimited {
            wait_ms: Some(3_600_000)
        })
    );
    assert!(world.waits.seconds().is_empty());
}

/// The issue exists although the response was lost, so a second request would create another.
#[tokio::test]
async fn write_with_a_lost_answer_is_not_repeated() {
    for fault in [Fault::LostAnswer, Fault::Truncated] {
        let world = world().await;
        world.fake.fail("POST /repos/acme/app/issues", fault);
        let issue = NewIssue {
            title: "x".into(),
            ..NewIssue::default()
        };
        let error = world.host.create_issue(&app(), &issue).await.unwrap_err();
        assert!(error.is_effect_unknown(), "{fault:?}: {error}");
        assert_eq!(
            world.fake.repository("acme/app").items.len(),
            1,
            "{fault:?}"
        );
    }
}

#[tokio::test]
async fn limited_write_is_repeated() {
    let world = world().await;
    world
        .fake
        .fail("POST /repos/acme/app/issues", Fault::SecondaryLimited(2));
    let issue = NewIssue {
        title: "x".into(),
        ..NewIssue::default()
    };
    assert_eq!(
        world
            .host
            .create_issue(&app(), &issue)
            .await
            .unwrap()
            .number,
        1
    );
    assert_eq!(
        (
            world.waits.seconds(),
            world.count("POST /repos/acme/app/issues")
        ),
        (vec![2], 2)
    );
}

#[tokio::test]
async fn rejections_keep_their_meaning() {
    let world = world().await;
    for (fault, expected) in [
        (Fault::Hidden, CodeHostError::Answer(Meaning::NotFound)),
        (
            Fault::Forbidden,
            CodeHostError::Answer(Meaning::PermissionMissing),
        ),
        (Fault::Garbled, CodeHostError::Unreadable),
    ] {
        world.fake.fail(REPOSITORY, fault);
        assert_eq!(
            world.host.repository(&app()).await.unwrap_err(),
            expected,
            "{fault:?}"
        );
    }
    world
        .fake
        .change("acme/app", |repository| repository.is_archived = true);
    assert!(world.host.repository(&app()).await.unwrap().is_archived);
    let error = world.host.comment(&app(), 1, "x").await.unwrap_err();
    assert_eq!(error, CodeHostError::Answer(Meaning::Archived));
}

/// The new name passes its own gate first, so the redirect is not followed.
#[tokio::test]
async fn renamed_repository_is_named() {
    let world = world().await;
    world.host.repository(&app()).await.unwrap();
    world.host.comment(&app(), 1, "x").await.unwrap_err();
    world.fake.rename("acme/app", "acme/new");
    for error in [
        world.host.repository(&app()).await.unwrap_err(),
        world.host.comment(&app(), 1, "x").await.unwrap_err(),
    ] {
        assert!(
            matches!(error.meaning(), Some(Meaning::Moved { .. })),
            "{error}"
        );
    }
    assert_eq!(world.count("/repositories/"), 0);
}

/// No token can be minted for the old name, so only the text can mention the new name.
#[tokio::test]
async fn rename_without_a_cached_token_is_suspected() {
    let world = world().await;
    world.fake.rename("acme/app", "acme/new");
    let error = world.host.repository(&app()).await.unwrap_err();
    assert_eq!(error, CodeHostError::Answer(Meaning::OutsideInstallation));
    assert!(error.to_string().ends_with("or it was renamed"), "{error}");
}

#[tokio::test]
async fn missing_branch_differs_from_a_hidden_repository() {
    let world = world().await;
    assert_eq!(
        world
            .host
            .branch_head(&app(), &branch("gone"))
            .await
            .unwrap(),
        None
    );
    for _ in 0..2 {
        world.fake.fail("GET /repos/acme/app", Fault::Hidden);
    }
    assert!(
        world
            .host
            .branch_head(&app(), &branch("main"))
            .await
            .unwrap_err()
            .is_not_found()
    );
}

/// GraphQL reports limits in a successful response's body.
#[tokio::test]
async fn limits_in_a_success_are_waited_out() {
    for (fault, waits) in [
        (Fault::GraphRateLimited(NOW_S + 30), vec![30]),
        (Fault::GraphSecondaryLimited(7), vec![7]),
        (Fault::SecondaryLimited(7), vec![7]),
        (Fault::GraphPartial, vec![0]),
        (Fault::Unavailable, vec![0]),
    ] {
        let world = world_with_thread().await;
        world.fake.fail("reviewThreads", fault);
        assert_eq!(
            world
                .host
                .review_threads(&app(), 1)
                .await
                .unwrap()
                .entries
                .len(),
            1,
            "{fault:?}"
        );
        assert_eq!(world.waits.seconds(), waits, "{fault:?}");
    }
    let world = world_with_thread().await;
    for _ in 0..9 {
        world
            .fake
            .fail("reviewThreads", Fault::GraphSecondaryLimited(1));
    }
    let error = world.host.review_threads(&app(), 1).await.unwrap_err();
    assert_eq!(
        error,
        CodeHostError::Answer(Meaning::SecondaryLimited { wait_ms: 1_000 })
    );
    assert_eq!(world.count("POST /graphql"), 4);
}

/// Resolving a thread twice has no further effect, so a lost answer is asked for again.
#[tokio::test]
async fn resolving_a_thread_is_repeated() {
    for fault in [
        Fault::GraphRateLimited(NOW_S + 1),
        Fault::GraphPartial,
        Fault::LostAnswer,
        Fault::Truncated,
    ] {
        let world = world_with_thread().await;
        world.fake.fail("resolveReviewThread", fault);
        world.host.resolve_thread(&app(), "PRRT_1").await.unwrap();
        assert_eq!(world.count("POST /graphql"), 2, "{fault:?}");
        assert!(
            world.fake.item("acme/app", 1).pull.unwrap().threads[0].is_resolved,
            "{fault:?}"
        );
    }
}

/// The host requires contents access for the mutation, so the token may write contents.
#[tokio::test]
async fn token_that_resolves_may_write_contents() {
    let world = world_with_thread().await;
    world.host.resolve_thread(&app(), "PRRT_1").await.unwrap();
    world.host.comment(&app(), 1, "x").await.unwrap();
    let mints = world
        .fake
        .seen()
        .into_iter()
        .filter(|seen| seen.target.ends_with("/access_tokens"));
    let writes = mints.map(|seen| {
        let body: serde_json::Value = serde_json::from_slice(&seen.body).unwrap();
        (
            body["permissions"]["contents"].clone(),
            body["permissions"]["issues"].clone(),
        )
    });
    assert_eq!(
        writes.collect::<Vec<_>>(),
        [
            ("write".into(), serde_json::Value::Null),
            ("read".into(), "write".into())
        ]
    );
}

async fn world_with_thread() -> World {
    let world = world().await;
    world.fake.change("acme/app", |repository| {
        let thread = FakeThread {
            id: "PRRT_1".into(),
            ..FakeThread::default()
        };
        let pull = FakePull {
            threads: vec![thread],
            ..FakePull::default()
        };
        repository.items.insert(
            1,
            FakeItem {
                number: 1,
                pull: Some(pull),
                ..FakeItem::default()
            },
        );
    });
    world
}
