//! The stored diagnosis: the checks a record must pass and what readers see (state-worker supplement sections 3
//! and 8.1).
//!
//! Not here: how a diagnosis is made (`analyze`). The checks are structural on purpose, and categories are read
//! leniently: a diagnosis of an earlier or later analyzer stays readable.

use serde_json::{Map, Value, json};

use ars_store::{Refusal, json::number};

/// The categories readers see, in their order (section 8.2); a test holds them against the analyzer's.
pub const CATEGORIES: [&str; 8] = [
    "slow_tool",
    "slow_model_turn",
    "failed_tool",
    "retry",
    "setup_install",
    "wrap_up",
    "budget_hit",
    "infra_failure",
];

/// The terms of a `shape`.
const SHAPE_TERMS: [&str; 8] = [
    "windowMs",
    "gettingReadyMs",
    "thinkingMs",
    "toolsMs",
    "finishingUpMs",
    "overheadMs",
    "notRecordedMs",
    "notLoadedMs",
];

/// Refuses a diagnosis that readers of run records could not digest (section 8.1); `field` is its name in the refusal.
pub fn check(diagnosis: &Value, field: &str) -> Result<(), Refusal> {
    const TOTALS: &str = "must be an object of totals with a numeric count and durationMs";
    let total = |value: &Value| {
        value.as_object().is_some_and(|total| has_number(total, "count") && has_number(total, "durationMs"))
    };
    let diagnosis = outline(diagnosis, field, total, TOTALS)?;
    let whole_shape = |shape: &Value| {
        shape.as_object().is_some_and(|shape| SHAPE_TERMS.iter().all(|term| has_number(shape, term)))
    };
    if !diagnosis.get("shape").is_none_or(whole_shape) {
        let rule = "must be an object with its eight numeric terms when present";
        return Err(Refusal::field(format!("{field}.shape"), rule));
    }
    Ok(())
}

/// Refuses a diagnosis that a ledger does not take (section 3): totals may hold anything, and `shape` is not looked at.
pub(super) fn check_outline(diagnosis: &Value, field: &str) -> Result<(), Refusal> {
    outline(diagnosis, field, Value::is_object, "must be an object of objects").map(drop)
}

/// What both checks ask; they differ in what a total is.
fn outline<'a>(
    diagnosis: &'a Value,
    field: &str,
    total: impl Fn(&Value) -> bool,
    totals_rule: &str,
) -> Result<&'a Map<String, Value>, Refusal> {
    let refuse = |part: &str, rule: &str| Err(Refusal::field(format!("{field}{part}"), rule));
    let Value::Object(diagnosis) = diagnosis else { return refuse("", "must be an object") };
    if !diagnosis.get("findings").is_some_and(Value::is_array) {
        return refuse(".findings", "must be an array");
    }
    if !has_number(diagnosis, "eventCount") {
        return refuse(".eventCount", "must be a number");
    }
    if !diagnosis.get("verdict").is_some_and(Value::is_string) {
        return refuse(".verdict", "must be a string");
    }
    if diagnosis.contains_key("runMs") && !has_number(diagnosis, "runMs") {
        return refuse(".runMs", "must be a number when present");
    }
    if !diagnosis.get("byCategory").and_then(Value::as_object).is_some_and(|by| by.values().all(total)) {
        return refuse(".byCategory", totals_rule);
    }
    Ok(diagnosis)
}

/// Makes `byCategory` exactly the current categories: missing ones zero, unknown ones gone, totals without extras.
pub fn normalise(diagnosis: &mut Value) {
    let Some(stored) = diagnosis.get_mut("byCategory") else { return };
    let total = |category: &&str| {
        let term = |name| stored.get(category).and_then(|total| total.get(name)).cloned().unwrap_or(json!(0));
        ((*category).to_owned(), json!({ "count": term("count"), "durationMs": term("durationMs") }))
    };
    *stored = Value::Object(CATEGORIES.iter().map(total).collect::<Map<_, _>>());
}

fn has_number(map: &Map<String, Value>, key: &str) -> bool {
    map.get(key).and_then(number).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Value {
        json!({ "findings": [], "eventCount": 0, "verdict": "", "byCategory": {} })
    }

    #[test]
    fn the_categories_are_the_analyzers() {
        let words: Vec<_> =
            crate::Category::ALL.iter().map(|category| serde_json::to_value(category).unwrap()).collect();
        assert_eq!(words, CATEGORIES);
    }

    #[test]
    fn what_the_analyzer_makes_is_accepted_and_already_normal() {
        let made = crate::analyze(&[], &crate::Options::default());
        let mut made = serde_json::to_value(made).unwrap();
        assert_eq!(check(&made, "diagnosis"), Ok(()));
        let before = made.clone();
        normalise(&mut made);
        assert_eq!(made, before);
    }

    #[test]
    fn each_broken_part_is_named() {
        for (part, value, named) in [
            ("findings", json!({}), "d.findings "),
            ("eventCount", json!("1"), "d.eventCount "),
            ("verdict", json!(null), "d.verdict "),
            ("runMs", json!(null), "d.runMs "),
            ("byCategory", json!([]), "d.byCategory "),
            ("byCategory", json!({ "retry": { "count": 1 } }), "d.byCategory "),
            ("byCategory", json!({ "of a later age": { "count": 1, "durationMs": null } }), "d.byCategory "),
            ("shape", json!(null), "d.shape "),
            ("shape", json!({ "windowMs": 1 }), "d.shape "),
        ] {
            let mut diagnosis = good();
            diagnosis[part] = value;
            let refusal = check(&diagnosis, "d").unwrap_err();
            assert!(refusal.to_string().starts_with(named), "{refusal}");
        }
        for not_an_object in [json!(null), json!([]), json!("x")] {
            assert!(check(&not_an_object, "d").is_err());
        }
    }

    #[test]
    fn a_ledger_looks_no_further_than_the_outline() {
        let mut diagnosis = good();
        diagnosis["byCategory"] = json!({ "retry": {}, "of a later age": { "count": null } });
        diagnosis["shape"] = json!(null);
        assert_eq!(check_outline(&diagnosis, "d"), Ok(()));
        assert!(check(&diagnosis, "d").is_err());
        for (part, value, named) in [
            ("findings", json!(null), "d.findings "),
            ("eventCount", json!(null), "d.eventCount "),
            ("verdict", json!(1), "d.verdict "),
            ("runMs", json!("1"), "d.runMs "),
            ("byCategory", json!({ "retry": 1 }), "d.byCategory "),
            ("byCategory", json!({ "retry": null }), "d.byCategory "),
            ("byCategory", json!({ "retry": [] }), "d.byCategory "),
            ("byCategory", json!([]), "d.byCategory "),
        ] {
            let mut diagnosis = good();
            diagnosis[part] = value;
            let refusal = check_outline(&diagnosis, "d").unwrap_err();
            assert!(refusal.to_string().starts_with(named), "{refusal}");
        }
        assert!(check_outline(&json!([]), "d").is_err());
    }

    #[test]
    fn unchecked_parts_are_free() {
        let mut diagnosis = good();
        diagnosis["toolCalls"] = json!("many");
        diagnosis["findings"] = json!([null, 1]);
        diagnosis["byCategory"] =
            json!({ "of a later age": { "count": 1.5, "durationMs": -1, "more": true } });
        assert_eq!(check(&diagnosis, "d"), Ok(()));
    }

    #[test]
    fn reading_zero_fills_and_drops() {
        let mut diagnosis = good();
        diagnosis["truncatedInput"] = json!(true);
        diagnosis["byCategory"] = json!({ "retry": { "count": 2, "durationMs": 1.5, "x": 1 }, "later": { "count": 1, "durationMs": 1 } });
        normalise(&mut diagnosis);
        assert_eq!(diagnosis["truncatedInput"], json!(true));
        assert_eq!(diagnosis["byCategory"]["retry"], json!({ "count": 2, "durationMs": 1.5 }));
        assert_eq!(diagnosis["byCategory"]["slow_tool"], json!({ "count": 0, "durationMs": 0 }));
        assert_eq!(diagnosis["byCategory"].as_object().unwrap().len(), 8);
    }
}
