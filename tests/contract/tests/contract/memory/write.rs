//! `/write`.

use serde_json::{Value, json};

use ars_tests_contract::{
    Table, WRONG,
    records::{with, without},
};

use super::{all, fact, facts, keyed, records};

pub fn table(_now: i64) -> Table {
    let mut table = Table::of("/write");
    requests(&mut table);
    candidates(&mut table);
    births(&mut table);
    dedup(&mut table);
    supersedes(&mut table);
    eviction(&mut table);
    table
}

fn requests(table: &mut Table) {
    table.case("records are required").refused("records", json!({}));
    table.refuses("records", &[json!(null), json!({}), json!(WRONG)], |value| json!({ "records": value }));
    table.case("empty batch is accepted").ok(records([])).then("/list", all());
    table
        .case("batch of 50")
        .ok(records((0..50).map(|n| fact(&format!("fact number {n}")))))
        .then("/list", all());
    table
        .case("batch of 51 is rejected")
        .refused("records", records((0..51).map(|n| fact(&format!("fact number {n}")))));
    let caps = [json!(null), json!(0), json!(-1), json!(10_001), json!(1.5), json!("5")];
    table.refuses("cap", &caps, |cap| with(facts(&["a"]), json!({ "cap": cap })));
    for cap in [1, 10_000] {
        table.case(format!("cap of {cap}")).ok(with(facts(&["a"]), json!({ "cap": cap })));
    }
}

/// Validation of candidates.
fn candidates(table: &mut Table) {
    let second = |candidate: Value| records([fact("a"), candidate]);
    let broken = [json!(null), json!(7), json!(WRONG), json!([]), json!({})];
    table.refuses("records[1]", &broken, second);
    for field in ["kind", "text", "sourceThreadKey"] {
        let named = format!("records[1].{field}");
        table.case(format!("{named} is required")).refused(&named, second(without(fact("b"), field)));
    }
    let long = || json!("é".repeat(201));
    let texts = |longest: usize| vec![json!(null), json!(7), json!([WRONG]), json!("é".repeat(longest + 1))];
    let rules: [(&str, Vec<Value>); 7] = [
        ("kind", vec![json!(null), json!(""), json!("Fact"), json!(WRONG), json!(["fact"])]),
        ("text", [texts(4000), vec![json!(""), json!(" \t\n\u{a0}\u{3000}")]].concat()),
        ("sourceThreadKey", [texts(200), vec![json!("")]].concat()),
        (
            "keywords",
            vec![
                json!(null),
                json!(WRONG),
                json!({}),
                json!(vec!["k"; 21]),
                json!([""]),
                json!([7]),
                json!(["k", null]),
                json!(["é".repeat(65)]),
            ],
        ),
        ("sourceRunId", vec![json!(null), json!(7), long()]),
        ("confidence", vec![json!(null), json!(-0.01), json!(1.01), json!("0.5"), json!([])]),
        ("supersedes", vec![json!(null), json!(7), long()]),
    ];
    for (field, values) in rules {
        let body = |value: Value| second(with(fact("b"), json!({ field: value })));
        table.refuses(&format!("records[1].{field}"), &values, body);
    }
    table
        .case("one rejected candidate rejects the whole batch")
        .refused("records[1].kind", second(with(fact("b"), json!({ "kind": "rumour" }))))
        .then("/list", all());
    table
        .case("maximum of every field")
        .ok(records([
            json!({ "kind": "summary", "text": "é".repeat(4000), "sourceThreadKey": "é".repeat(200),
            "keywords": vec!["é".repeat(64); 20], "sourceRunId": "é".repeat(200), "confidence": 1 }),
        ]))
        .then("/list", all());
    table
        .case("minimum of every field")
        .ok(records([
            json!({ "kind": "fact", "text": ".", "sourceThreadKey": "t", "keywords": [], "sourceRunId": "",
            "confidence": 0, "supersedes": "" }),
        ]))
        .then("/list", all());
}

/// Initial fields of a record.
fn births(table: &mut Table) {
    table
        .case("record is returned without null fields")
        .ok(records([
            fact("The build takes 9 minutes, the BUILD."),
            with(
                keyed("Ask before a deploy.", &["Deploy", "ask first"]),
                json!({ "kind": "summary", "sourceRunId": "r1", "confidence": 0.75 }),
            ),
        ]))
        .then("/list", all());
    table
        .case("unknown fields are dropped, a record's own fields too")
        .ok(records([with(
            fact("a"),
            json!({ "id": WRONG, "useCount": 9, "status": "superseded", "createdAt": 1, "lastUsedAt": 1, "more": 1 }),
        )]))
        .then("/list", all());
    table
        .case("text is stored unchanged, blanks included")
        .ok(facts(&["  two  blanks\t\n\u{1f600} \"q\" "]))
        .then("/list", all());
    table
        .case("default keywords are the text's tokens in order, with repeats")
        .ok(facts(&["B a1 na\u{ef}ve b \u{e9}\u{660} x-Y_z"]))
        .then("/list", all());
    table.case("numbers continue").given("/write", facts(&["a", "b"])).ok(facts(&["c"])).then("/list", all());
    table
        .case("numbers of forgotten and evicted records are not reused")
        .given("/write", with(facts(&["a", "b"]), json!({ "cap": 2 })))
        .given("/write", with(facts(&["c"]), json!({ "cap": 1 })))
        .ok(facts(&["d"]))
        .then("/list", all());
    table
        .case("scopes have separate caps")
        .given("/write", with(facts(&["a"]), json!({ "scopeKey": "org:of-another" })))
        .ok(facts(&["b"]))
        .then("/list", all());
}

/// Deduplication without `supersedes`.
fn dedup(table: &mut Table) {
    table
        .case("equal text counts as use without a time of use")
        .given("/write", facts(&["The build is slow."]))
        .ok(facts(&["The build is slow."]))
        .then("/list", all());
    table
        .case("texts that differ only in case and blanks are equal")
        .given("/write", facts(&["The build\tis  SLOW."]))
        .ok(facts(&["  the   Build is\nslow. ", "\u{a0}THE BUILD IS SLOW.\u{3000}"]))
        .then("/list", all());
    table
        .case("punctuation and accents count")
        .given("/write", facts(&["the build is slow"]))
        .ok(facts(&["the build is slow.", "th\u{e9} build is slow", "the-build is slow"]))
        .then("/list", all());
    table
        .case("letters beyond ASCII are lower-cased too")
        .given("/write", facts(&["\u{c9}T\u{c9}"]))
        .ok(facts(&["\u{e9}t\u{e9}"]));
    table.case("later candidates see earlier ones").ok(facts(&["a", "A", "b", " a "])).then("/list", all());
    table
        .case("no field of an equal candidate is copied")
        .given("/write", facts(&["a"]))
        .ok(records([with(keyed("A", &["k"]), json!({ "kind": "summary", "confidence": 0.5 }))]))
        .then("/list", all());
    table
        .case("equal candidate uses no number")
        .given("/write", facts(&["a"]))
        .ok(facts(&["a", "b"]))
        .then("/list", all());
    table
        .case("empty supersedes counts as absent")
        .given("/write", facts(&["a"]))
        .ok(records([with(fact("a"), json!({ "supersedes": "" }))]));
    table
        .case("another scope's equal text does not count")
        .given("/write", with(facts(&["a"]), json!({ "scopeKey": "org:of-equals" })))
        .ok(facts(&["a"]));
}

/// Deduplication with `supersedes`. Ids contain the scope's key, so these cases have explicit keys.
fn supersedes(table: &mut Table) {
    let superseding = |scope: &str, text: &str, id: &str| json!({ "scopeKey": scope, "records": [with(fact(text), json!({ "supersedes": id }))] });
    let scoped = |scope: &str, texts: &[&str]| with(facts(texts), json!({ "scopeKey": scope }));
    let listed = |scope: &str| with(all(), json!({ "scopeKey": scope }));
    let mut case = |name: &str, scope: &str, given: &[&str], text: &str, id: &str| {
        table
            .case(name)
            .given("/write", scoped(scope, given))
            .ok(superseding(scope, text, id))
            .then("/list", listed(scope))
            .then("/write", scoped(scope, given));
    };
    case("an active record with another text gives way", "s:1", &["old"], "new", "mem:s:1:0");
    case("an active record with an equal text stays and is used", "s:2", &["old"], " OLD ", "mem:s:2:0");
    case("an unknown one: inserted whatever it says, the pointer kept", "s:3", &["old"], "old", "mem:s:3:7");
    case("what is no id at all: inserted, the pointer kept", "s:4", &["old"], "old", "\u{1f600} '; --");
    case("equality with some other record does not swallow it", "s:5", &["old", "new"], "New", "mem:s:5:0");
    case("another scope's record stays", "s:6", &["old"], "new", "mem:s:1:0");
    case("the empty string is none", "s:7", &["old"], "old", "");
    table
        .case("superseded record: inserted, not counted as superseded")
        .given("/write", scoped("s:8", &["old"]))
        .given("/write", superseding("s:8", "new", "mem:s:8:0"))
        .ok(superseding("s:8", "newer", "mem:s:8:0"))
        .then("/list", listed("s:8"));
    table
        .case("forgotten record: inserted, not counted as superseded")
        .given("/write", scoped("s:9", &["old"]))
        .given("/forget", json!({ "scopeKey": "s:9", "id": "mem:s:9:0" }))
        .ok(superseding("s:9", "old", "mem:s:9:0"))
        .then("/list", listed("s:9"));
    table
        .case("candidates may supersede earlier ones of their batch")
        .ok(json!({ "scopeKey": "s:10", "records": [fact("a"), with(fact("b"), json!({ "supersedes": "mem:s:10:0" })),
            with(fact("c"), json!({ "supersedes": "mem:s:10:1" }))] }))
        .then("/list", listed("s:10"));
    table
        .case("second successor of one record finds it superseded")
        .given("/write", scoped("s:11", &["old"]))
        .ok(json!({ "scopeKey": "s:11", "records": [with(fact("b"), json!({ "supersedes": "mem:s:11:0" })),
            with(fact("c"), json!({ "supersedes": "mem:s:11:0" }))] }))
        .then("/list", listed("s:11"));
    table
        .case("of several active records with one text the first inserted is used")
        .given("/write", scoped("s:12", &["a"]))
        .given("/write", superseding("s:12", "a", "mem:s:12:9"))
        .ok(scoped("s:12", &["A"]))
        .then("/list", listed("s:12"));
}

/// Eviction at the cap. The order within a batch is undefined, so whole batches are evicted or kept here.
fn eviction(table: &mut Table) {
    let capped = |texts: &[&str], cap: u32| with(facts(texts), json!({ "cap": cap }));
    table.case("at the cap none is evicted").ok(capped(&["a", "b"], 2)).then("/list", all());
    table.case("over the cap the excess is evicted").ok(capped(&["a", "b", "c"], 1));
    table
        .case("longest unused is evicted first, by its creation if never used")
        .given_each("/write", ["a", "b", "c"].map(|text| facts(&[text])))
        .given("/retrieve", json!({ "query": "a", "limit": 1 }))
        .ok(capped(&["d"], 3))
        .then("/list", all());
    table
        .case("list and equal candidate do not update the time of use")
        .given_each("/write", ["a", "b", "a"].map(|text| facts(&[text])))
        .given("/list", all())
        .ok(capped(&["c"], 2))
        .then("/list", all());
    table
        .case("equal candidate at the cap evicts none")
        .given("/write", capped(&["a", "b"], 2))
        .ok(capped(&["A"], 2));
    table
        .case("smaller cap evicts existing records without a candidate")
        .given_each("/write", ["a", "b", "c", "d"].map(|text| facts(&[text])))
        .ok(capped(&[], 2))
        .then("/list", all());
    table
        .case("superseded and forgotten records do not count")
        .given("/write", facts(&["a", "b"]))
        .given("/write", json!({ "scopeKey": "s:dead", "records": [fact("x"), with(fact("y"), json!({ "supersedes": "mem:s:dead:0" }))] }))
        .given("/forget", json!({ "scopeKey": "s:dead", "id": "mem:s:dead:1" }))
        .ok(json!({ "scopeKey": "s:dead", "records": [fact("z")], "cap": 1 }))
        .then("/list", json!({ "scopeKey": "s:dead", "limit": 50 }));
    table
        .case("default cap is five hundred")
        .given_each(
            "/write",
            (0..10).map(|batch| records((0..50).map(move |n| fact(&format!("fact {batch} {n}"))))),
        )
        .ok(facts(&["one too many"]));
    table
        .case("evicted text is new when written again")
        .given("/write", capped(&["a"], 1))
        .given("/write", capped(&["b"], 1))
        .ok(facts(&["a"]))
        .then("/list", all());
}
