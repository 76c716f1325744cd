//! Faults of the host: what is sent again, and what its rejections mean.

use ars_bot_ports::{CodeHost as _, CodeHostError, code_host::NewIssue};
use ars_codehost::answer::Meaning;
use ars_testkit::github::Fault;

use crate::support::{NOW_S, app, branch, world};

const REPOSITORY: &str = "GET /repos/acme/app";

#[tokio::test]
async fn passing_faults_of_reads_are_waited_out() {
    for (fault, waits) in [
        (Fault::RateLimited(NOW_S + 30), vec![30]),
        // Half a second of spread is added.
        (Fault::SecondaryLimited(7), vec![7]),
        (Fault::Unavailable, vec![0]),
        (Fault::Truncated, vec![0]),
    ] {
        let world = world().await;
        world.fake.fail(REPOSITORY, fault);
        assert_eq!(world.host.repository(&app()).await.unwrap().default_branch, "main", "{fault:?}");
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
    world.fake.fail(REPOSITORY, Fault::RateLimited(NOW_S + 3_600));
    let error = world.host.repository(&app()).await.unwrap_err();
    assert_eq!(error, CodeHostError::Answer(Meaning::RateLimited { wait_ms: Some(3_600_000) }));
    assert!(world.waits.seconds().is_empty());
}

/// The issue exists although its answer was lost, so a second request would make another.
#[tokio::test]
async fn write_with_a_lost_answer_is_not_repeated() {
    for fault in [Fault::LostAnswer, Fault::Truncated] {
        let world = world().await;
        world.fake.fail("POST /repos/acme/app/issues", fault);
        let issue = NewIssue { title: "x".into(), ..NewIssue::default() };
        let error = world.host.create_issue(&app(), &issue).await.unwrap_err();
        assert!(error.is_effect_unknown(), "{fault:?}: {error}");
        assert_eq!(world.fake.repository("acme/app").items.len(), 1, "{fault:?}");
    }
}

#[tokio::test]
async fn limited_write_is_repeated() {
    let world = world().await;
    world.fake.fail("POST /repos/acme/app/issues", Fault::SecondaryLimited(2));
    let issue = NewIssue { title: "x".into(), ..NewIssue::default() };
    assert_eq!(world.host.create_issue(&app(), &issue).await.unwrap().number, 1);
    assert_eq!((world.waits.seconds(), world.count("POST /repos/acme/app/issues")), (vec![2], 2));
}

#[tokio::test]
async fn rejections_keep_their_meaning() {
    let world = world().await;
    for (fault, expected) in [
        (Fault::Hidden, CodeHostError::Answer(Meaning::NotFound)),
        (Fault::Forbidden, CodeHostError::Answer(Meaning::PermissionMissing)),
        (Fault::Garbled, CodeHostError::Unreadable),
    ] {
        world.fake.fail(REPOSITORY, fault);
        assert_eq!(world.host.repository(&app()).await.unwrap_err(), expected, "{fault:?}");
    }
    world.fake.change("acme/app", |repository| repository.is_archived = true);
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
        assert!(matches!(error.meaning(), Some(Meaning::Moved { .. })), "{error}");
    }
    assert_eq!(world.count("/repositories/"), 0);
}

#[tokio::test]
async fn missing_branch_differs_from_a_hidden_repository() {
    let world = world().await;
    assert_eq!(world.host.branch_head(&app(), &branch("gone")).await.unwrap(), None);
    for _ in 0..2 {
        world.fake.fail("GET /repos/acme/app", Fault::Hidden);
    }
    assert!(world.host.branch_head(&app(), &branch("main")).await.unwrap_err().is_not_found());
}
