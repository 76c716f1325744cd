//! A restricted repository is closed under every name and spelling for its place.

use ars_auth::{Grants, Set};
use proptest::prelude::*;

use super::*;
use crate::{
    gates::{authorize_agent, authorize_name},
    request::resolve::resolve_agent,
};

const SLUG: &str = "acme/site";

fn ask(repository: &str, actor: &Actor, settings: &Settings) -> Result<PlannedChoice, Refusal> {
    let choices = Choices {
        agent: Some("coding".into()),
        repository: Some(repository.into()),
        ..Choices::default()
    };
    resolve(&choices, actor, settings, None)
}

fn resolve(
    choices: &Choices,
    actor: &Actor,
    settings: &Settings,
    own: Option<&Repository>,
) -> Result<PlannedChoice, Refusal> {
    let scopes = ActiveScopes::default();
    let agent = resolve_agent(choices, &scopes, settings)?;
    authorize_agent(agent, actor, settings)?;
    plan(choices, &scopes, actor, agent, settings, own)
}

fn stranger() -> Actor {
    Actor::new("http:bob", Grants::default())
}

fn holder() -> Actor {
    Actor::new(
        "http:ann",
        Grants {
            repos: Set::only(&[SLUG]),
            ..Grants::default()
        },
    )
}

/// Settings that restrict the place and allow requests to name any path below this prefix.
fn closed(prefix: &str, repositories: Vec<Repository>) -> Settings {
    let mut settings = Settings {
        default_model: ModelRef::parse("a/default").ok(),
        allowed_origins: vec![prefix.to_owned()],
        repositories,
        ..Settings::default()
    };
    settings.restrictions.repos.insert(SLUG.to_owned());
    settings
}

fn app() -> Repository {
    Repository {
        name: "app".into(),
        origin: "https://code.example/acme/site.git".into(),
    }
}

/// The same letters in mixed case.
fn spelled(text: &'static str) -> impl Strategy<Value = String> {
    prop::collection::vec(any::<bool>(), text.len()).prop_map(move |large| {
        let letters = text.chars().zip(large);
        letters
            .map(|(letter, large)| {
                if large {
                    letter.to_ascii_uppercase()
                } else {
                    letter
                }
            })
            .collect()
    })
}

/// Separators between two path parts.
fn gap() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["/", "//", "/./", "/.//"])
}

fn end() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "", "/", "//", "/.", ".git", ".git/", ".GIT", ".git.git", "/.git", "/.git/",
    ])
}

/// A prefix and a rest that together spell the place.
fn place() -> impl Strategy<Value = (String, String)> {
    let authority = prop::sample::select(vec![
        ("https://", ""),
        ("https://", ":443"),
        ("http://", ""),
        ("https://ann:word@", ""),
        ("ssh://git@", ":22"),
        ("git://", ""),
        ("git://", ":9418"),
        ("https://", ":8443"),
        ("https://", "."),
    ]);
    let parts = (spelled("code.example"), spelled("acme"), spelled("site"));
    (authority, parts, gap(), gap(), end()).prop_map(
        |((scheme, port), (host, owner, name), first, second, end)| {
            (
                format!("{scheme}{host}{port}"),
                format!("{first}{owner}{second}{name}{end}"),
            )
        },
    )
}

/// The same in the form `user@host:path`, with a prefix that ends within the path.
fn short_place() -> impl Strategy<Value = (String, String)> {
    let parts = (spelled("code.example"), spelled("acme"), spelled("site"));
    (parts, gap(), end()).prop_map(|((host, owner, name), gap, end)| {
        (format!("git@{host}:{owner}"), format!("{gap}{name}{end}"))
    })
}

proptest! {
    #[test]
    fn every_spelling_is_restricted((prefix, rest) in prop_oneof![place(), short_place()]) {
        let origin = format!("{prefix}{rest}");
        for repositories in [vec![], vec![app()]] {
            let settings = closed(&prefix, repositories);
            let refused = ask(&origin, &stranger(), &settings).err();
            prop_assert_eq!(refused, Some(Refusal::RepositoryForbidden));
            // The gate rejects it, and not an unparsed spelling.
            let held = ask(&origin, &holder(), &settings).map(|plan| plan.repository.map(|one| one.name));
            let Ok(Some(name)) = held else { return Err(TestCaseError::fail(format!("{held:?}"))) };
            prop_assert!(authorize_name(&stranger(), &settings, &name).is_err(), "{}", name);
            prop_assert!(authorize_name(&holder(), &settings, &name).is_ok(), "{}", name);
        }
    }
}

#[test]
fn short_name_does_not_bypass_a_restriction() {
    let settings = closed("/nowhere", vec![app()]);
    assert!(ask("app", &stranger(), &settings).is_err());
    assert!(ask("app", &holder(), &settings).is_ok());
    assert!(authorize_name(&stranger(), &settings, "app").is_err());
    let own = Repository {
        name: "older".into(),
        origin: "git@code.example:acme/site".into(),
    };
    let choices = Choices {
        agent: Some("coding".into()),
        ..Choices::default()
    };
    assert!(resolve(&choices, &stranger(), &settings, Some(&own)).is_err());
}

#[test]
fn other_places_stay_open() {
    let settings = closed("https://code.example", vec![app()]);
    for open in [
        "acme/site-docs",
        "acme/sites",
        "other/site",
        "acme/site/docs",
        "site",
    ] {
        assert!(
            ask(
                &format!("https://code.example/{open}"),
                &stranger(),
                &settings
            )
            .is_ok(),
            "{open}"
        );
    }
}
