//! The predicate of `/runs/list`.

use serde_json::{Value, json};

use ars_tests_contract::{
    Table, WRONG,
    records::{nested, put, record, with},
};

const FIELD: &str = "visibleTo";

pub fn cases(table: &mut Table, now: i64) {
    kinds(table, now);
    malformed(table);
    bounds(table, now);
}

fn channels(ids: impl IntoIterator<Item = impl Into<String>>) -> Value {
    let ids: Vec<String> = ids.into_iter().map(Into::into).collect();
    json!({ "kind": "channels-in", "channelIds": ids })
}

fn user(id: &str) -> Value {
    json!({ "kind": "user-is", "userId": id })
}

fn visibilities(words: &[&str]) -> Value {
    json!({ "kind": "visibility-in", "visibilities": words })
}

fn either(of: Vec<Value>) -> Value {
    json!({ "kind": "or", "of": of })
}

fn both(of: Vec<Value>) -> Value {
    json!({ "kind": "and", "of": of })
}

fn kinds(table: &mut Table, now: i64) {
    let runs = || {
        [
            ("a", json!({ "channelId": "C1", "userId": "U1", "repo": "o/n", "channelVisibility": "public" })),
            ("b", json!({ "channelId": "C1", "userId": "U2", "channelVisibility": "private" })),
            ("c", json!({ "channelId": "C2", "userId": "U1", "repo": "o/m" })),
            ("d", json!({ "channelId": "", "userId": "", "repo": "", "channelVisibility": "dm" })),
        ]
        .map(|(id, fields)| put(with(record(id, now - 1000), fields)))
    };
    let repos = |names: &[&str]| json!({ "kind": "repos-in", "repos": names });
    let all = || json!({ "kind": "all" });
    let none = || json!({ "kind": "none" });
    let mut asked = |name: &str, predicate: Value| {
        table
            .case(format!("visible to {name}"))
            .given_each("/runs/put", runs())
            .ok(json!({ FIELD: predicate }));
    };
    asked("all", all());
    asked("none", none());
    asked("the channels of a list", channels(["C2", "C9"]));
    asked("the channels of an empty list", channels([""; 0]));
    asked("one user", user("U1"));
    asked("an unknown user", user("' OR 1=1 --"));
    asked("the repositories of a list, which a run without one is not in", repos(&["o/n", "o/m"]));
    asked("the repositories of an empty list", repos(&[]));
    asked("one visibility", visibilities(&["private"]));
    asked("the unknown visibility of a run without one", visibilities(&["unknown"]));
    asked("every visibility", visibilities(&["public", "private", "dm", "machine", "unknown"]));
    asked("no visibility", visibilities(&[]));
    asked("either of two", either(vec![user("U2"), repos(&["o/m"])]));
    asked("either of none", either(vec![]));
    asked("both of two", both(vec![user("U1"), channels(["C1"])]));
    asked("both of an empty list", both(vec![]));
    asked("either of all and another", either(vec![user("U9"), all()]));
    asked("both of all and another", both(vec![all(), user("U2")]));
    asked("both of none and another", both(vec![none(), user("U2")]));
    asked(
        "either within both",
        both(vec![user("U1"), either(vec![channels(["C2"]), visibilities(&["public"])])]),
    );
    asked("both within either", either(vec![both(vec![user("U2"), channels(["C1"])]), both(vec![])]));
    asked("whatever else the predicate holds", with(user("U2"), json!({ "more": WRONG })));
}

fn malformed(table: &mut Table) {
    let wrong = [
        json!(null),
        json!("all"),
        json!([]),
        json!({}),
        json!({ "kind": "everything" }),
        json!({ "kind": WRONG }),
        json!({ "kind": ["all"] }),
        json!({ "kind": "ALL" }),
        json!({ "kind": "channels-in" }),
        json!({ "kind": "channels-in", "channelIds": "C1" }),
        json!({ "kind": "channels-in", "channelIds": [""] }),
        json!({ "kind": "channels-in", "channelIds": ["C1", 7] }),
        json!({ "kind": "channels-in", "channelIds": [null] }),
        json!({ "kind": "user-is" }),
        json!({ "kind": "user-is", "userId": "" }),
        json!({ "kind": "user-is", "userId": ["U1"] }),
        json!({ "kind": "repos-in", "channelIds": ["o/n"] }),
        json!({ "kind": "repos-in", "repos": {} }),
        json!({ "kind": "visibility-in", "visibilities": ["open"] }),
        json!({ "kind": "visibility-in", "visibilities": ["dm", "dm", "dm", "dm", "dm", "dm"] }),
        json!({ "kind": "or" }),
        json!({ "kind": "or", "of": {} }),
        json!({ "kind": "or", "of": [null] }),
        json!({ "kind": "or", "of": [{ "kind": "all" }, { "kind": WRONG }] }),
        json!({ "kind": "and", "of": ["all"] }),
        json!({ "kind": "and", "of": [{ "kind": "none" }, { "kind": "nobody" }] }),
    ];
    table.refuses(FIELD, &wrong, |predicate| json!({ FIELD: predicate }));
}

fn bounds(table: &mut Table, now: i64) {
    let ids = |count: usize| (0..count).map(|n| format!("C{n}")).collect::<Vec<_>>();
    let within = |levels| nested(levels, user("U1"), |inner| either(vec![inner]));
    let mut taken = |name: &str, predicate: Value| {
        table
            .case(format!("predicate may have {name}"))
            .given("/runs/put", put(record("r", now - 1000)))
            .ok(json!({ FIELD: predicate }));
    };
    taken("eight levels below its root", within(8));
    taken("a hundred ids in one list", channels(ids(100)));
    taken(
        "a hundred ids over the whole of it, users, words and repositories among them",
        either(vec![
            channels(ids(96)),
            user("U1"),
            visibilities(&["public", "dm"]),
            json!({ "kind": "repos-in", "repos": ["o/n"] }),
        ]),
    );
    taken("a hundred users", either((0..100).map(|n| user(&format!("U{n}"))).collect()));
    taken("a thousand parts", either(vec![channels([""; 0]); 1000]));
    let mut refused = |name: &str, predicate: Value| {
        table.case(format!("predicate may not have {name}")).refused(FIELD, json!({ FIELD: predicate }));
    };
    refused("nine levels below its root", within(9));
    refused("a hundred and one ids in one list", channels(ids(101)));
    refused(
        "a hundred and one ids over the whole of it",
        either(vec![
            channels(ids(97)),
            user("U1"),
            visibilities(&["public", "dm"]),
            json!({ "kind": "repos-in", "repos": ["o/n"] }),
        ]),
    );
    refused("a hundred and one users", either((0..101).map(|n| user(&format!("U{n}"))).collect()));
    refused("a thousand and one parts", either(vec![channels([""; 0]); 1001]));
    refused("a thousand and one entries of a list", channels(ids(1001)));
}
