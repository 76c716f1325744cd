//! `/runs/handoff`.

use serde_json::{Value, json};

use ars_tests_contract::{Table, WRONG, records::record};

use super::{claim, claimed, owned, run, wrong_generations, wrong_ids};

pub fn table(now: i64) -> Table {
    let mut table = Table::of("/runs/handoff");
    let of = |ids: &[&str]| json!({ "gen": "g1", "runIds": ids });
    table.case("gen is required").refused("gen", json!({ "runIds": [] }));
    table.refuses("gen", &wrong_generations(), |generation| json!({ "gen": generation, "runIds": [] }));
    table.case("runIds are required").refused("runIds", json!({ "gen": "g1" }));
    table.refuses(
        "runIds",
        &[json!(null), json!({}), json!("r"), json!(WRONG)],
        |ids: Value| json!({ "gen": "g1", "runIds": ids }),
    );
    table.refuses("runIds[1]", &wrong_ids(), |id| json!({ "gen": "g1", "runIds": ["r", id] }));
    table
        .case("one invalid id rejects all")
        .given("/runs/claim", claimed())
        .refused("runIds[1]", json!({ "gen": "g1", "runIds": ["r", WRONG] }))
        .then("/runs/live", json!({}));
    table.case("no runs, none marked").given("/runs/claim", claimed()).ok(of(&[]));
    table
        .case("unknown runs are not marked")
        .given("/runs/claim", claimed())
        .ok(of(&["x", "r", "y"]))
        .then("/runs/live", json!({}));
    table
        .case("marked runs are in the request's order without duplicates")
        .given_each("/runs/claim", ["a", "b", "c"].map(|id| claim(run(id, id, "g1"))))
        .ok(of(&["c", "a", "c", "b", "a"]));
    table
        .case("runs that are not named stay live")
        .given_each("/runs/claim", ["a", "b"].map(|id| claim(run(id, id, "g1"))))
        .ok(of(&["b"]))
        .then("/runs/live", json!({}));
    table
        .case("another generation's run is not marked")
        .given("/runs/claim", claim(run("r", "t", "g2")))
        .ok(of(&["r"]))
        .then("/runs/live", json!({}));
    table
        .case("handed-off run is not marked again")
        .given("/runs/claim", claimed())
        .given("/runs/handoff", of(&["r"]))
        .ok(of(&["r"]));
    table
        .case("finishing run is not marked")
        .given("/runs/claim", claimed())
        .given("/runs/finishing", owned(json!({})))
        .ok(of(&["r"]))
        .then("/runs/live", json!({}));
    table
        .case("finished run is not marked")
        .given("/runs/claim", claimed())
        .given("/runs/finish", owned(json!({ "record": record("r", now - 1000) })))
        .ok(of(&["r"]));
    table
        .case("more runs than a statement has parameters")
        .given_each("/runs/claim", (0..120).map(|n| claim(run(&format!("r{n}"), &format!("t{n}"), "g1"))))
        .ok(json!({ "gen": "g1", "runIds": (0..120).map(|n| format!("r{n}")).collect::<Vec<_>>() }));
    table
}
