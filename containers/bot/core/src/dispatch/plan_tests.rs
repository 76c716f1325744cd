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

/// The agent and what it runs with.
#[expect(clippy::needless_pass_by_value, reason = "its calls make the choices where they stand")]
fn resolve(
    choices: Choices,
    scopes: &Scopes,
    actor: &Actor,
    settings: &Settings,
    own: Option<&Repository>,
) -> Result<(&'static AgentSpec, Plan), String> {
    let wish = Wish { choices: &choices, scopes, actor, settings };
    let agent = wish.agent()?;
    Ok((agent, wish.plan(agent, own)?))
}

#[test]
fn the_general_agent_with_the_default_model_serves_a_bare_request() {
    let (agent, plan) =
        resolve(Choices::default(), &Scopes::default(), &machine(), &settings(), None).unwrap();
    assert_eq!((agent.name, plan.model.model(), plan.repository), ("general", "default", None));
}

#[test]
fn choices_win_over_the_agents_model_and_that_over_the_default() {
    let mut settings = settings();
    settings.models.insert("general".into(), ModelRef::parse("a/agents").unwrap());
    let (_, plan) = resolve(Choices::default(), &Scopes::default(), &machine(), &settings, None).unwrap();
    assert_eq!(plan.model.model(), "agents");
    let choices = Choices { model: ModelRef::parse("b/mine").ok(), ..Choices::default() };
    assert_eq!(
        resolve(choices, &Scopes::default(), &machine(), &settings, None).unwrap().1.model.provider(),
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
    assert_eq!(
        resolve(with_repo("acme/other"), &Scopes::default(), &machine(), &settings(), None).unwrap_err(),
        "that repository is not known here. Name one with `repo:<name>`. Known here: acme/app."
    );
    let (_, plan) =
        resolve(with_repo("acme/app"), &Scopes::default(), &machine(), &settings(), None).unwrap();
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
    let (_, plan) =
        resolve(with_repo("/srv/git/tool.git/"), &Scopes::default(), &machine(), &settings, None).unwrap();
    assert_eq!(plan.repository.unwrap().name, "origin:/srv/git/tool");
    assert!(
        resolve(with_repo("/srv/git/../../etc"), &Scopes::default(), &machine(), &settings, None).is_err()
    );
}

#[test]
fn a_closed_repository_stays_closed_by_its_origin_and_by_another_name_of_it() {
    let mut settings = settings();
    settings.allowed_origins = vec!["/srv".into()];
    settings.repositories.push(Repository { name: "app".into(), origin: "/srv/app.git".into() });
    let mut holder = machine();
    holder.grants.repos = Set::Only(BTreeSet::from(["acme/app".to_owned(), "app".to_owned()]));
    let ask = |name: &str, actor: &Actor, settings: &Settings| {
        resolve(with_repo(name), &Scopes::default(), actor, settings, None)
    };
    for name in ["acme/app", "app", "/srv/app", "/srv/app/", "/srv/app.git", "/srv//app/.git"] {
        let open = ask(name, &machine(), &settings).unwrap().1.repository.unwrap();
        assert!(open.name == "acme/app" || name == "app" && open.name == "app", "{name}: {open:?}");
        let mut closed = settings.clone();
        closed.restrictions.repos.insert("acme/app".into());
        assert!(ask(name, &machine(), &closed).is_err(), "{name}");
        assert!(ask(name, &holder, &closed).is_ok(), "{name}");
        // A thread that had the place before the configuration knew it.
        let own = Repository { name: "older".into(), origin: "/srv/app.git".into() };
        assert!(resolve(coding(), &Scopes::default(), &machine(), &closed, Some(&own)).is_err(), "{name}");
    }
    for disguised in ["/srv/%61pp", "/srv/app?x", "/srv/app#x", "/srv/x\\..\\app"] {
        assert!(ask(disguised, &machine(), &settings).is_err(), "{disguised}");
    }
}

#[test]
fn repositories_of_one_folder_name_have_different_names() {
    let mut settings = settings();
    settings.allowed_origins = vec!["/srv".into()];
    let name = |origin: &str| {
        let plan = resolve(with_repo(origin), &Scopes::default(), &machine(), &settings, None);
        plan.unwrap().1.repository.unwrap().name
    };
    assert_ne!(name("/srv/one/tool"), name("/srv/two/tool"));
}

#[test]
fn a_follow_up_keeps_the_threads_repository_but_asks_the_gate_again() {
    let own = Repository { name: "acme/app".into(), origin: "/srv/app".into() };
    assert_eq!(
        resolve(coding(), &Scopes::default(), &machine(), &settings(), Some(&own)).unwrap().1.repository,
        None
    );
    let mut settings = settings();
    settings.restrictions.repos.insert("acme/app".into());
    assert!(resolve(coding(), &Scopes::default(), &machine(), &settings, Some(&own)).is_err());
}
