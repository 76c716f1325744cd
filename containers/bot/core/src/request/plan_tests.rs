//! Request resolution tests: precedence and gates.

use std::collections::BTreeSet;

use ars_auth::{Grants, Restrictions, Set};
use ars_bot_ports::texts;

use super::*;
use crate::{gates::authorize_agent, request::resolve::resolve_agent};

fn settings() -> Settings {
    Settings {
        default_model: ModelRef::parse("a/default").ok(),
        repositories: vec![Repository {
            name: "acme/app".into(),
            origin: "/srv/app".into(),
        }],
        ..Settings::default()
    }
}

fn machine() -> Actor {
    Actor::new("http:ann", Grants::default())
}

fn coding() -> Choices {
    Choices {
        agent: Some("coding".into()),
        ..Choices::default()
    }
}

fn with_repo(name: &str) -> Choices {
    Choices {
        repository: Some(name.into()),
        ..coding()
    }
}

/// Returns the agent and plan for a request.
#[expect(
    clippy::needless_pass_by_value,
    reason = "its calls make the choices where they stand"
)]
fn resolve(
    choices: Choices,
    actor: &Actor,
    settings: &Settings,
    own: Option<&Repository>,
) -> Result<(&'static AgentSpec, PlannedChoice), Refusal> {
    let scopes = &ActiveScopes::default();
    let agent = resolve_agent(&choices, scopes, settings)?;
    authorize_agent(agent, actor, settings)?;
    Ok((agent, plan(&choices, scopes, actor, agent, settings, own)?))
}

#[test]
fn bare_request_uses_the_defaults() {
    let (agent, plan) = resolve(Choices::default(), &machine(), &settings(), None).unwrap();
    assert_eq!(
        (agent.name, plan.model.model(), plan.repository),
        ("general", "default", None)
    );
}

#[test]
fn choices_override_agent_and_default_models() {
    let mut settings = settings();
    settings
        .models
        .insert("general".into(), ModelRef::parse("a/agents").unwrap());
    let (_, plan) = resolve(Choices::default(), &machine(), &settings, None).unwrap();
    assert_eq!(plan.model.model(), "agents");
    let choices = Choices {
        model: ModelRef::parse("b/mine").ok(),
        ..Choices::default()
    };
    assert_eq!(
        resolve(choices, &machine(), &settings, None)
            .unwrap()
            .1
            .model
            .provider(),
        "b"
    );
}

#[test]
fn missing_model_suggests_settings() {
    let refusal = resolve(Choices::default(), &machine(), &Settings::default(), None).unwrap_err();
    assert!(texts::refusal(&refusal).contains("ANTHROPIC_API_KEY"));
}

#[test]
fn a_restricted_agent_needs_its_grant() {
    let mut settings = settings();
    settings.restrictions = Restrictions {
        agents: BTreeSet::from(["general".to_owned()]),
        ..Default::default()
    };
    assert!(resolve(Choices::default(), &machine(), &settings, None).is_err());
    let mut holder = machine();
    holder.grants.actions = Set::Only(BTreeSet::from(["agent:run:general".to_owned()]));
    assert!(resolve(Choices::default(), &holder, &settings, None).is_ok());
}

#[test]
fn coding_requires_a_known_repository() {
    let refusal_of = |choices| {
        let refusal = resolve(choices, &machine(), &settings(), None).unwrap_err();
        texts::refusal(&refusal)
    };
    assert!(refusal_of(coding()).contains("acme/app"));
    assert_eq!(
        refusal_of(with_repo("acme/other")),
        "⛔ Sorry, that repository is not known here. Name one with `repo:<name>`. Known here: acme/app."
    );
    let (_, plan) = resolve(with_repo("acme/app"), &machine(), &settings(), None).unwrap();
    assert_eq!(plan.repository.unwrap().origin, "/srv/app");
}

#[test]
fn direct_origins_need_permission() {
    assert!(resolve(with_repo("/etc"), &machine(), &settings(), None).is_err());
    assert!(
        resolve(
            with_repo("/etc/x.git"),
            &Actor::cli_local(),
            &settings(),
            None
        )
        .is_ok()
    );
    let mut settings = settings();
    settings.allowed_origins = vec!["/srv/git/".into()];
    let (_, plan) = resolve(with_repo("/srv/git/tool.git/"), &machine(), &settings, None).unwrap();
    assert_eq!(plan.repository.unwrap().name, "origin:/srv/git/tool");
    assert!(resolve(with_repo("/srv/git/../../etc"), &machine(), &settings, None).is_err());
}

#[test]
fn restriction_applies_to_every_name() {
    let mut settings = settings();
    settings.allowed_origins = vec!["/srv".into()];
    settings.repositories.push(Repository {
        name: "app".into(),
        origin: "/srv/app.git".into(),
    });
    let mut holder = machine();
    holder.grants.repos = Set::Only(BTreeSet::from(["acme/app".to_owned(), "app".to_owned()]));
    let ask = |name: &str, actor: &Actor, settings: &Settings| {
        resolve(with_repo(name), actor, settings, None)
    };
    for name in [
        "acme/app",
        "app",
        "/srv/app",
        "/srv/app/",
        "/srv/app.git",
        "/srv//app/.git",
    ] {
        let open = ask(name, &machine(), &settings)
            .unwrap()
            .1
            .repository
            .unwrap();
        assert!(
            open.name == "acme/app" || name == "app" && open.name == "app",
            "{name}: {open:?}"
        );
        let mut closed = settings.clone();
        closed.restrictions.repos.insert("acme/app".into());
        assert!(ask(name, &machine(), &closed).is_err(), "{name}");
        assert!(ask(name, &holder, &closed).is_ok(), "{name}");
        // A thread that had the place before it was configured.
        let own = Repository {
            name: "older".into(),
            origin: "/srv/app.git".into(),
        };
        assert!(
            resolve(coding(), &machine(), &closed, Some(&own)).is_err(),
            "{name}"
        );
    }
    for disguised in ["/srv/%61pp", "/srv/app?x", "/srv/app#x", "/srv/x\\..\\app"] {
        assert!(
            ask(disguised, &machine(), &settings).is_err(),
            "{disguised}"
        );
    }
}

#[test]
fn equal_folder_names_are_distinguished() {
    let mut settings = settings();
    settings.allowed_origins = vec!["/srv".into()];
    let name = |origin: &str| {
        let plan = resolve(with_repo(origin), &machine(), &settings, None);
        plan.unwrap().1.repository.unwrap().name
    };
    assert_ne!(name("/srv/one/tool"), name("/srv/two/tool"));
}

#[test]
fn threads_repository_passes_the_gate_again() {
    let own = Repository {
        name: "acme/app".into(),
        origin: "/srv/app".into(),
    };
    assert_eq!(
        resolve(coding(), &machine(), &settings(), Some(&own))
            .unwrap()
            .1
            .repository,
        None
    );
    let mut settings = settings();
    settings.restrictions.repos.insert("acme/app".into());
    assert!(resolve(coding(), &machine(), &settings, Some(&own)).is_err());
}
