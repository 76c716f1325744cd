//! The fake host against octocrab's own models.

use std::sync::Arc;

use ars_auth::Secret;
use ars_bot_ports::{Clock, Randomness};
use ars_codehost::Host;
use ars_testkit::github::FakeGitHub;
use ars_types::UnixMillis;
use octocrab::params::State;

use super::*;
use crate::code_host::{Credentials, TokioPause};

struct Epoch;

impl Clock for Epoch {
    fn now(&self) -> UnixMillis {
        0
    }
}

#[tokio::test]
async fn octocrabs_models_read_the_fake() {
    let fake = FakeGitHub::start().await;
    fake.add_repository("acme/app", &[("a", "one\n")]);
    let head = fake.commit("acme/app", "topic", &[("a", Some("two\n"))]);
    let token = Secret::parse(Some(fake.plain_token())).unwrap();
    let transport = Transport::new(
        Host::parse(&fake.url()).unwrap(),
        Credentials::Token(token),
        Arc::new(Epoch),
        Arc::new(TokioPause),
        Randomness::default(),
    );
    let octocrab = Client::new(transport.unwrap()).octocrab;
    assert_eq!(octocrab.repos("acme", "app").get().await.unwrap().full_name.unwrap(), "acme/app");
    let pulls = octocrab.pulls("acme", "app");
    let made = pulls.create("Fix", "topic", "main").body("b").draft(Some(true)).send().await.unwrap();
    assert_eq!((made.head.sha.as_str(), made.draft), (head.as_str(), Some(true)));
    assert_eq!(pulls.list().state(State::All).send().await.unwrap().items.len(), 1);
    assert_eq!(pulls.list_files(made.number).await.unwrap().items[0].filename, "a");
    let issues = octocrab.issues("acme", "app");
    let issue = issues.create("Slow").body("b").send().await.unwrap();
    let comment = issues.create_comment(issue.number, "hi").await.unwrap();
    issues.update_comment(comment.id, "ho").await.unwrap();
    let listed = issues.list_comments(issue.number).send().await.unwrap();
    assert_eq!(listed.items[0].body.as_deref(), Some("ho"));
    assert_eq!(issues.list().state(State::Open).send().await.unwrap().items.len(), 2);
}
