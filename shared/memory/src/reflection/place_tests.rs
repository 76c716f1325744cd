//! Tests the scopes that findings reach, and those they never reach.

use proptest::prelude::*;

use super::*;
use crate::samples::record;

const ALL: Scopes<'_> = Scopes {
    organization: Some("acme"),
    repository: Some("acme/app"),
    channel: Some("C1"),
    user: Some("ann"),
};
const VISIBILITIES: [Visibility; 5] = [
    Visibility::Public,
    Visibility::Private,
    Visibility::Dm,
    Visibility::Machine,
    Visibility::Unknown,
];

fn origin(scopes: Scopes<'_>, visibility: Visibility) -> Origin<'_> {
    Origin {
        scopes,
        visibility,
        thread_key: "slack:C1:1",
        run_id: "r-1",
        taint: &[],
    }
}

fn fact(text: &str, audience: Scope, supersedes: Option<&str>) -> Fact {
    let supersedes = supersedes.map(Into::into);
    Fact {
        text: text.into(),
        confidence: 0.9,
        keywords: vec!["ci".into()],
        audience,
        supersedes,
    }
}

fn shown() -> Vec<MemoryRecord> {
    vec![record("org:acme", 0, "old"), record("user:ann", 3, "older")]
}

/// Returns `<scope key>: <text>` and the replaced record for each candidate.
fn placed(facts: Vec<Fact>, summary: Option<&str>, origin: &Origin<'_>) -> Vec<String> {
    let findings = Findings {
        facts,
        summary: summary.map(Into::into),
    };
    let batches = place(findings, &shown(), origin);
    assert!(batches.iter().all(|batch| !batch.candidates.is_empty()));
    let lines = batches.iter().flat_map(|batch| {
        batch.candidates.iter().map(|candidate| {
            let replaces = candidate
                .supersedes
                .as_ref()
                .map(|id| format!(" for {id}"))
                .unwrap_or_default();
            format!("{}: {}{replaces}", batch.scope, candidate.text)
        })
    });
    lines.collect()
}

#[test]
fn fact_goes_to_its_audience() {
    let facts = vec![
        fact("a", Scope::User, None),
        fact("b", Scope::Repo, None),
        fact("c", Scope::User, None),
        fact("d", Scope::Channel, None),
        fact("e", Scope::Org, None),
    ];
    let origin = origin(ALL, Visibility::Public);
    let expected = [
        "user:ann: a",
        "user:ann: c",
        "repo:acme/app: b",
        "channel:C1: d",
        "org:acme: e",
    ];
    assert_eq!(placed(facts, None, &origin), expected);

    let findings = Findings {
        facts: vec![fact("a", Scope::Org, None)],
        summary: Some("s".into()),
    };
    let batches = place(findings, &[], &origin);
    let whole = Candidate {
        kind: Kind::Fact,
        text: "a".into(),
        source_thread_key: "slack:C1:1".into(),
        keywords: vec!["ci".into()],
        source_run_id: Some("r-1".into()),
        confidence: Some(0.9),
        supersedes: None,
        taint: vec![],
    };
    let summary = Candidate {
        kind: Kind::Summary,
        text: "s".into(),
        keywords: vec![],
        confidence: None,
        ..whole.clone()
    };
    assert_eq!(
        batches,
        [Batch {
            scope: StoreKey::parse("org:acme").unwrap(),
            candidates: vec![whole, summary]
        }]
    );
}

/// A fact replaces only a record from the same kind of source.
#[test]
fn tainted_findings_reach_their_user_only() {
    const TAINT: &[Taint] = &[Taint::Web];
    for visibility in VISIBILITIES {
        let tainted = Origin {
            taint: TAINT,
            ..origin(ALL, visibility)
        };
        for audience in Scope::ALL {
            assert_eq!(
                placed(vec![fact("a", audience, None)], Some("s"), &tainted),
                ["user:ann: a", "user:ann: s"]
            );
        }
        let corrections = vec![
            fact("b", Scope::User, Some("mem:org:acme:0")),
            fact("c", Scope::User, Some("mem:user:ann:3")),
        ];
        assert_eq!(
            placed(corrections, None, &tainted),
            ["user:ann: b", "user:ann: c"]
        );
        let nobody = Origin {
            taint: TAINT,
            ..origin(Scopes { user: None, ..ALL }, visibility)
        };
        assert!(
            placed(
                vec![fact("a", Scope::Repo, None), fact("b", Scope::User, None)],
                Some("s"),
                &nobody
            )
            .is_empty()
        );
    }
    let shown = [MemoryRecord {
        taint: TAINT.to_vec(),
        ..record("user:ann", 3, "older")
    }];
    let findings = Findings {
        facts: vec![fact("d", Scope::User, Some("mem:user:ann:3"))],
        summary: None,
    };
    let tainted = Origin {
        taint: TAINT,
        ..origin(ALL, Visibility::Public)
    };
    let [batch] = &place(findings, &shown, &tainted)[..] else {
        panic!("one scope")
    };
    assert_eq!(
        batch.candidates[0].supersedes.as_deref(),
        Some("mem:user:ann:3")
    );
    assert_eq!(batch.candidates[0].taint, TAINT);
}

#[test]
fn missing_scope_falls_back_to_org() {
    let few = Scopes {
        organization: Some("acme"),
        ..Scopes::default()
    };
    for audience in Scope::ALL {
        assert_eq!(
            placed(
                vec![fact("a", audience, None)],
                None,
                &origin(few, Visibility::Machine)
            ),
            ["org:acme: a"]
        );
    }
    assert!(
        placed(
            vec![fact("a", Scope::Org, None)],
            None,
            &origin(Scopes::default(), Visibility::Public)
        )
        .is_empty()
    );
}

#[test]
fn private_facts_never_reach_org() {
    for (visibility, expected) in [
        (Visibility::Dm, "user:ann: a"),
        (Visibility::Private, "channel:C1: a"),
        (Visibility::Unknown, "channel:C1: a"),
    ] {
        let origin = origin(ALL, visibility);
        assert_eq!(
            placed(vec![fact("a", Scope::Org, None)], None, &origin),
            [expected]
        );
        let replacing = fact("a", Scope::Org, Some("mem:org:acme:0"));
        assert_eq!(
            placed(vec![replacing], None, &origin),
            [expected],
            "and replaces nothing"
        );
    }
    // A missing scope falls back to `org`, so a restricted origin does not reach it either.
    let without = Scopes {
        repository: None,
        ..ALL
    };
    let repo = || vec![fact("a", Scope::Repo, None)];
    assert_eq!(
        placed(repo(), None, &origin(without, Visibility::Dm)),
        ["user:ann: a"]
    );
    let nobody = Scopes {
        user: None,
        channel: None,
        ..without
    };
    for visibility in [Visibility::Dm, Visibility::Private, Visibility::Unknown] {
        assert!(placed(repo(), Some("s"), &origin(nobody, visibility)).is_empty());
    }
    let direct = Scopes {
        user: None,
        ..without
    };
    assert!(placed(repo(), None, &origin(direct, Visibility::Dm)).is_empty());
    let own = Scopes {
        channel: None,
        ..without
    };
    assert_eq!(
        placed(repo(), None, &origin(own, Visibility::Private)),
        ["user:ann: a"]
    );
}

#[test]
fn fact_follows_the_record_it_replaces() {
    let origin = origin(ALL, Visibility::Public);
    let facts = vec![
        fact("a", Scope::User, Some("mem:org:acme:0")),
        fact("b", Scope::Org, Some("mem:user:ann:3")),
        fact("c", Scope::Repo, Some("mem:org:acme:99")),
    ];
    let expected = [
        "org:acme: a for mem:org:acme:0",
        "user:ann: b for mem:user:ann:3",
        "repo:acme/app: c",
    ];
    assert_eq!(placed(facts, None, &origin), expected);
}

#[test]
fn record_of_another_scope_stays() {
    let bob = Scopes {
        user: Some("bob"),
        ..ALL
    };
    let facts = vec![fact("a", Scope::Org, Some("mem:user:ann:3"))];
    assert_eq!(
        placed(facts, None, &origin(bob, Visibility::Public)),
        ["user:bob: a"]
    );
}

#[test]
fn summary_goes_to_the_narrowest_audience() {
    let of = |audiences: &[Scope], visibility| {
        let facts = audiences
            .iter()
            .map(|audience| fact("f", *audience, None))
            .collect();
        let placed = placed(facts, Some("s"), &origin(ALL, visibility));
        let summary = placed.into_iter().find(|line| line.ends_with(": s"));
        summary.unwrap().trim_end_matches(": s").to_owned()
    };
    let public = Visibility::Public;
    assert_eq!(of(&[Scope::Org], public), "org:acme");
    assert_eq!(of(&[Scope::Org, Scope::Channel], public), "channel:C1");
    assert_eq!(
        of(&[Scope::Channel, Scope::Repo, Scope::Org], public),
        "repo:acme/app"
    );
    assert_eq!(
        of(&[Scope::Repo, Scope::User, Scope::Channel], public),
        "user:ann"
    );
    assert_eq!(
        of(&[], public),
        "user:ann",
        "without a fact it is nobody else's"
    );
    assert_eq!(of(&[Scope::Org], Visibility::Dm), "user:ann");
    assert_eq!(of(&[Scope::Org], Visibility::Unknown), "channel:C1");
    // Meant for a single person while replacing everybody's record, and the reverse.
    for (audience, replaced) in [
        (Scope::User, "mem:org:acme:0"),
        (Scope::Org, "mem:user:ann:3"),
    ] {
        let lines = placed(
            vec![fact("f", audience, Some(replaced))],
            Some("s"),
            &origin(ALL, public),
        );
        assert!(lines.contains(&"user:ann: s".to_owned()), "{lines:?}");
    }
}

#[test]
fn long_thread_key_is_cut() {
    let key = "t".repeat(300);
    let origin = Origin {
        thread_key: &key,
        ..origin(ALL, Visibility::Public)
    };
    let findings = Findings {
        facts: vec![fact("a", Scope::Org, None)],
        summary: None,
    };
    assert_eq!(
        place(findings, &[], &origin)[0].candidates[0].source_thread_key,
        "t".repeat(200)
    );
}

proptest! {
    #[test]
    fn findings_stay_within_the_run_scopes(
        audiences in prop::collection::vec(prop::sample::select(Scope::ALL.to_vec()), 0..6),
        replaced in prop::option::of(prop::sample::select(vec!["mem:org:acme:0", "mem:user:ann:3", "mem:x:1"])),
        has in prop::array::uniform4(any::<bool>()),
        visibility in prop::sample::select(VISIBILITIES.to_vec()),
    ) {
        let scopes = Scopes {
            organization: ALL.organization.filter(|_| has[0]),
            repository: ALL.repository.filter(|_| has[1]),
            channel: ALL.channel.filter(|_| has[2]),
            user: ALL.user.filter(|_| has[3]),
        };
        let facts = audiences.iter().map(|audience| fact("f", *audience, replaced)).collect();
        let findings = Findings { facts, summary: Some("s".into()) };
        for Batch { scope, candidates } in place(findings, &shown(), &origin(scopes, visibility)) {
            prop_assert!(scopes.keys().contains(&scope));
            let is_open = matches!(visibility, Visibility::Public | Visibility::Machine);
            prop_assert!(is_open || Scope::from_key(scope.as_str()) != Some(Scope::Org));
            for replaced in candidates.iter().filter_map(|candidate| candidate.supersedes.as_ref()) {
                prop_assert_eq!(crate::record_id::parse(replaced).unwrap().0, scope.as_str());
            }
        }
    }
}
