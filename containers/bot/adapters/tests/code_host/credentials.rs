//! App tokens, the plain token, and the git credential.

use std::process::Command;

use ars_bot_ports::{CodeHost as _, CodeHostError, code_host::GitAccess};
use ars_codehost::answer::Meaning;
use ars_testkit::github::{FakeGitHub, Fault};
use ars_types::RepoSlug;
use serde_json::{Value, json};

use crate::support::{NOW_S, adapter, app, world};

const MINT: &str = "POST /app/installations/77/access_tokens";

#[tokio::test]
async fn token_is_for_one_repository_and_cached() {
    let world = world().await;
    world.host.repository(&app()).await.unwrap();
    world.host.issue(&app(), 1).await.unwrap_err();
    let minted: Vec<Value> = world
        .fake
        .seen()
        .iter()
        .filter(|seen| seen.target.ends_with("access_tokens"))
        .map(|seen| serde_json::from_slice(&seen.body).unwrap())
        .collect();
    assert_eq!(minted.len(), 1);
    assert_eq!(minted[0]["repositories"], json!(["app"]));
    let words = minted[0]["permissions"].as_object().unwrap().values();
    assert!(words.into_iter().all(|word| word == "read"), "{minted:?}");
    world.host.comment(&app(), 1, "x").await.unwrap_err();
    assert_eq!(world.count(MINT), 2, "a write has a token of its own");
}

#[tokio::test]
async fn revoked_token_is_minted_again_once() {
    let world = world().await;
    world.host.repository(&app()).await.unwrap();
    world.fake.revoke_tokens();
    world.host.repository(&app()).await.unwrap();
    assert_eq!(world.count(MINT), 2);
    for _ in 0..2 {
        world.fake.fail("GET /repos/acme/app", Fault::Unauthorized);
    }
    let error = world.host.repository(&app()).await.unwrap_err();
    assert_eq!(error, CodeHostError::Answer(Meaning::BadCredentials));
    assert_eq!((world.count(MINT), world.waits.seconds().len()), (3, 0));
}

#[tokio::test]
async fn foreign_repository_gets_no_token() {
    let world = world().await;
    for name in ["acme/other", "other/app"] {
        let slug = RepoSlug::parse(name).unwrap();
        let error = world
            .host
            .git_credential(&slug, GitAccess::Write)
            .await
            .err()
            .unwrap();
        assert_eq!(
            error,
            CodeHostError::Answer(Meaning::OutsideInstallation),
            "{name}"
        );
    }
}

#[tokio::test]
async fn plain_token_serves_calls_and_git() {
    let fake = FakeGitHub::start().await;
    fake.add_repository("acme/app", &[("a", "b")]);
    let host = adapter(&fake, false, &std::sync::Arc::default());
    assert_eq!(host.account().await.unwrap().login, "ars-user");
    assert_eq!(
        host.repositories().await.unwrap().entries[0].repository,
        app()
    );
    let credential = host.git_credential(&app(), GitAccess::Read).await.unwrap();
    assert_eq!(credential.password.expose(), fake.plain_token());
    fake.fail("GET /repos/acme/app", Fault::Unauthorized);
    assert_eq!(
        host.repository(&app()).await.unwrap_err(),
        CodeHostError::Answer(Meaning::BadCredentials)
    );
}

/// Git clones with the read credential, and pushes only with the write credential.
#[tokio::test]
async fn git_credential_is_as_wide_as_its_operation() {
    let world = world().await;
    world.fake.protect("acme/app", "main");
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree");
    let run = |arguments: Vec<String>| {
        let mut git = Command::new("git");
        git.env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        git.args(["-c", "user.name=a", "-c", "user.email=a@b"])
            .args(arguments);
        tokio::task::spawn_blocking(move || git.output().unwrap().status.success())
    };
    let words = |text: String| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let at = tree.display();
    let origin = |password: &str| {
        world
            .fake
            .url()
            .replace("://", &format!("://x-access-token:{password}@"))
    };
    let read = world
        .host
        .git_credential(&app(), GitAccess::Read)
        .await
        .unwrap();
    let write = world
        .host
        .git_credential(&app(), GitAccess::Write)
        .await
        .unwrap();
    assert!(read.expires_at.unwrap() > i64::try_from(NOW_S).unwrap());
    let (read, write) = (
        origin(read.password.expose()),
        origin(write.password.expose()),
    );
    assert!(
        !run(words(format!(
            "clone -q {}/acme/app.git {at}",
            world.fake.url()
        )))
        .await
        .unwrap()
    );
    assert!(
        run(words(format!("clone -q {read}/acme/app.git {at}")))
            .await
            .unwrap()
    );
    assert!(
        run(words(format!("-C {at} commit -q --allow-empty -m x")))
            .await
            .unwrap()
    );
    for (base, target, is_accepted) in [
        (&read, "ars/r1", false),
        (&write, "main", false),
        (&write, "ars/r1", true),
    ] {
        let push = words(format!(
            "-C {at} push -q {base}/acme/app.git HEAD:refs/heads/{target}"
        ));
        assert_eq!(run(push).await.unwrap(), is_accepted, "{target}");
    }
    let head = world
        .host
        .branch_head(&app(), &crate::support::branch("ars/r1"))
        .await
        .unwrap();
    assert_ne!(head.unwrap().as_str(), world.main);
}
