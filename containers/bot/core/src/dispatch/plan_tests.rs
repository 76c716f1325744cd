//! Tests of request resolution: precedence and gates.

use std::collections::BTreeSet;

use ars_auth::{Grants, Restrictions, Set};

use super::*;

fn settings() -> Settings {
    Settings {
        default_model: ModelRef::parse("a/default").ok(),
        repositories: vec![Repository { name: "acme/app".into(), origin: "/srv/app".into() }],
        ..Settings::default()
    }
}

fn machine() -> Actor {
    Actor::new("http:ann", Grants::default())
}

fn coding() -> Choices {
    Choices { agent: Some("coding".into()), ..Choices::default() }
}

fn with_repo(name: &str) -> Choices {
    Choices { repository: Some(name.into()), ..coding() }
}

#[test]
fn the_general_agent_with_the_default_model_serves_a_bare_request() {
    let plan = resolve(Choices::default(), &Scopes::default(), &machine(), &settings(), None).unwrap();
    assert_eq!((plan.agent.name, plan.model.model(), plan.repository), ("general", "default", None));
}

#[test]
fn choices_win_over_the_agents_model_and_that_over_the_default() {
    let mut settings = settings();
    settings.models.insert("general".into(), ModelRef::parse("a/agents").unwrap());
    let plan = resolve(Choices::default(), &Scopes::default(), &machine(), &settings, None).unwrap();
    assert_eq!(plan.model.model(), "agents");
    let choices = Choices { model: ModelRef::parse("b/mine").ok(), ..Choices::default() };
    assert_eq!(
        resolve(choices, &Scopes::default(), &machine(), &settings, None).unwrap().model.provider(),
        "b"
    );
}

#[test]
fn a_request_without_any_model_is_told_what_to_set() {
    let refusal =
        resolve(Choices::default(), &Scopes::default(), &machine(), &Settings::default(), None).unwrap_err();
    assert!(refusal.contains("ANTHROPIC_API_KEY"));
}

#[test]
fn a_restricted_agent_needs_its_grant() {
    let mut settings = settings();
    settings.restrictions =
        Restrictions { agents: BTreeSet::from(["general".to_owned()]), ..Default::default() };
    assert!(resolve(Choices::default(), &Scopes::default(), &machine(), &settings, None).is_err());
    let mut holder = machine();
    holder.grants.actions = Set::Only(BTreeSet::from(["agent:run:general".to_owned()]));
    assert!(resolve(Choices::default(), &Scopes::default(), &holder, &settings, None).is_ok());
}

#[test]
fn a_coding_request_must_name_a_known_repository() {
    assert!(
        resolve(coding(), &Scopes::default(), &machine(), &settings(), None)
            .unwrap_err()
            .contains("acme/app")
    );
    assert!(resolve(with_repo("acme/other"), &Scopes::default(), &machine(), &settings(), None).is_err());
    let plan = resolve(with_repo("acme/app"), &Scopes::default(), &machine(), &settings(), None).unwrap();
    assert_eq!(plan.repository.unwrap().origin, "/srv/app");
}

#[test]
fn paths_and_urls_are_refused_unless_allowed_or_asked_for_locally() {
    assert!(resolve(with_repo("/etc"), &Scopes::default(), &machine(), &settings(), None).is_err());
    assert!(
        resolve(with_repo("/etc/x.git"), &Scopes::default(), &Actor::cli_local(), &settings(), None).is_ok()
    );
    let mut settings = settings();
    settings.allowed_origins = vec!["/srv/git/".into()];
    let plan =
        resolve(with_repo("/srv/git/tool.git/"), &Scopes::default(), &machine(), &settings, None).unwrap();
    assert_eq!(plan.repository.unwrap().name, "tool");
    assert!(
        resolve(with_repo("/srv/git/../../etc"), &Scopes::default(), &machine(), &settings, None).is_err()
    );
}

#[test]
fn a_follow_up_keeps_the_threads_repository_but_asks_the_gate_again() {
    let own = Repository { name: "acme/app".into(), origin: "/srv/app".into() };
    assert_eq!(
        resolve(coding(), &Scopes::default(), &machine(), &settings(), Some(&own)).unwrap().repository,
        None
    );
    let mut settings = settings();
    settings.restrictions.repos.insert("acme/app".into());
    assert!(resolve(coding(), &Scopes::default(), &machine(), &settings, Some(&own)).is_err());
}
