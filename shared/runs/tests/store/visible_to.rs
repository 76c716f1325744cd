//! `visibleTo` inside SQL against the same predicate in Rust.

use ars_runs::visible_to::{self, Subject};
use ars_types::Visibility;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{NOW, Store, record, store, with};

const CHANNELS: [&str; 4] = ["C1", "C2", "", "c'1\0\""];
const USERS: [&str; 3] = ["U1", "U2", "é"];
const REPOS: [Option<&str>; 4] = [None, Some("o/n"), Some("o/m"), Some("")];

/// Stores a run for each combination of the fields that predicates read; the id encodes the fields.
fn every_kind_of_run() -> (Store, Vec<(String, Subject<'static>)>) {
    let store = store();
    let mut subjects = Vec::new();
    for (c, channel_id) in CHANNELS.into_iter().enumerate() {
        for (u, user_id) in USERS.into_iter().enumerate() {
            for (r, repo) in REPOS.into_iter().enumerate() {
                let visibility = Visibility::ALL[(c + u + r) % Visibility::ALL.len()];
                let id = format!("r{c}{u}{r}");
                let mut run = with(
                    record(&id, NOW),
                    json!({ "channelId": channel_id, "userId": user_id }),
                );
                if let Some(repo) = repo {
                    run["repo"] = json!(repo);
                }
                // Absent is unknown.
                if visibility != Visibility::Unknown {
                    run["channelVisibility"] = json!(visibility);
                }
                store.put(run);
                subjects.push((
                    id,
                    Subject {
                        channel_id,
                        user_id,
                        repo,
                        visibility,
                    },
                ));
            }
        }
    }
    (store, subjects)
}

fn agree(store: &Store, subjects: &[(String, Subject<'static>)], predicate: &Value) {
    let filter = visible_to::parse(predicate).unwrap();
    let mut expected: Vec<_> = subjects
        .iter()
        .filter(|(_, run)| filter.allows(run))
        .map(|(id, _)| id.clone())
        .collect();
    expected.sort_unstable_by(|a, b| b.cmp(a));
    assert_eq!(
        store.listed(json!({ "limit": 200, "visibleTo": predicate })),
        expected,
        "{predicate}"
    );
}

fn predicate() -> impl Strategy<Value = Value> {
    let channels = prop::sample::subsequence(vec!["C1", "C2", "c'1\0\"", "C9"], 0..3);
    let repos = prop::sample::subsequence(vec!["o/n", "o/m", "x/y"], 0..3);
    let words = prop::sample::subsequence(Visibility::ALL.to_vec(), 0..4);
    let leaf = prop_oneof![
        Just(json!({ "kind": "all" })),
        Just(json!({ "kind": "none" })),
        channels.prop_map(|ids| json!({ "kind": "channels-in", "channelIds": ids })),
        prop::sample::select(USERS.to_vec())
            .prop_map(|user| json!({ "kind": "user-is", "userId": user })),
        repos.prop_map(|repos| json!({ "kind": "repos-in", "repos": repos })),
        words.prop_map(|words| json!({ "kind": "visibility-in", "visibilities": words })),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        (prop::bool::ANY, prop::collection::vec(inner, 0..4))
            .prop_map(|(any, of)| json!({ "kind": if any { "or" } else { "and" }, "of": of }))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn store_matches_the_predicate(predicates in prop::collection::vec(predicate(), 8)) {
        thread_local!(static RUNS: (Store, Vec<(String, Subject<'static>)>) = every_kind_of_run());
        RUNS.with(|(store, subjects)| predicates.iter().for_each(|predicate| agree(store, subjects, predicate)));
    }
}

#[test]
fn hundred_ids_are_accepted_in_any_shape() {
    let (store, subjects) = every_kind_of_run();
    let ids: Vec<_> = (0..99)
        .map(|n| format!("X{n}"))
        .chain(["C1".into()])
        .collect();
    agree(
        &store,
        &subjects,
        &json!({ "kind": "channels-in", "channelIds": ids }),
    );
    let branches: Vec<_> = ids
        .iter()
        .map(|id| json!({ "kind": "channels-in", "channelIds": [id] }))
        .collect();
    agree(&store, &subjects, &json!({ "kind": "or", "of": branches }));
    let deep = (0..8).fold(json!({ "kind": "user-is", "userId": "U1" }), |inner, n| {
        let mut of: Vec<_> = (0..11)
            .map(|m| json!({ "kind": "user-is", "userId": format!("X{n}{m}") }))
            .collect();
        of.push(inner);
        json!({ "kind": "or", "of": of })
    });
    agree(&store, &subjects, &deep);
}
