//! The stored diagnosis: checks and normalization.
//!
//! See docs/reference/friction.md#stored-diagnosis. Not here: the analysis. The checks are
//! structural, and categories are read leniently, so that diagnoses from other versions stay
//! readable.

use serde_json::{Map, Value, json};

use ars_store::{Refusal, json::number};

/// Categories that readers see, in order; a test compares them with the analyzer's.
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

/// Terms in a `shape`.
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

/// Rejects a diagnosis that run record readers could not parse; `field` is the name in the refusal.
pub fn check(diagnosis: &Value, field: &str) -> Result<(), Refusal> {
    const TOTALS: &str = "must be an object of totals with a numeric count and durationMs";
    let total = |value: &Value| {
        value
            .as_object()
            .is_some_and(|total| has_number(total, "count") && has_number(total, "durationMs"))
    };
    let diagnosis = outline(diagnosis, field, total, TOTALS)?;
    let whole_shape = |shape: &Value| {
        shape
            .as_object()
            .is_some_and(|shape| SHAPE_TERMS.iter().all(|term| has_number(shape, term)))
    };
    if !diagnosis.get("shape").is_none_or(whole_shape) {
        let rule = "must be an object with its eight numeric terms when present";
        return Err(Refusal::field(format!("{field}.shape"), rule));
    }
    Ok(())
}

/// Rejects a diagnosis that a ledger does not accept; totals may hold anything, `shape` is unchecked.
pub(super) fn check_outline(diagnosis: &Value, field: &str) -> Result<(), Refusal> {
    outline(
        diagnosis,
        field,
        Value::is_object,
        "must be an object of objects",
    )
    .map(drop)
}

/// Makes the checks common to both, which write a total differently.
fn outline<'a>(
    diagnosis: &'a Value,
    field: &str,
    total: impl Fn(&Value) -> bool,
    totals_rule: &str,
) -> Result<&'a Map<String, Value>, Refusal> {
    let refuse = |part: &str, rule: &str| Err(Refusal::field(format!("{field}{part}"), rule));
    let Value::Object(diagnosis) = diagnosis else {
        return refuse("", "must be an object");
    };
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
    if !diagnosis
        .get("byCategory")
        .and_then(Value::as_object)
        .is_some_and(|by| by.values().all(total))
    {
        return refuse(".byCategory", totals_rule);
    }
    Ok(diagnosis)
}

/// Reduces `byCategory` to the current categories: missing ones are zero, unknown ones are dropped.
pub fn normalise(diagnosis: &mut Value) {
    let Some(stored) = diagnosis.get_mut("byCategory") else {
        return;
    };
    let total = |category: &&str| {
        let term = |name| {
            stored
                .get(category)
                .and_then(|total| total.get(name))
                .cloned()
                .unwrap_or(json!(0))
        };
        (
            (*category).to_owned(),
            json!({ "count": term("count"), "durationMs": term("durationMs") }),
        )
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
    fn categories_match_the_analyzer() {
        let words: Vec<_> = crate::Category::ALL
            .iter()
            .map(|category| serde_json::to_value(category).unwrap())
            .collect();
        assert_eq!(words, CATEGORIES);
    }

    #[test]
    fn analyzer_output_is_accepted_and_normal() {
        let made = crate::analyze(&[], &crate::AnalysisOptions::default());
        let mut made = serde_json::to_value(made).unwrap();
        assert_eq!(check(&made, "diagnosis"), Ok(()));
        let before = made.clone();
        normalise(&mut made);
        assert_eq!(made, before);
    }

    #[test]
    fn ledger_checks_the_outline_only() {
        let mut diagnosis = good();
        diagnosis["byCategory"] = json!({ "retry": {}, "of a later age": { "count": null } });
        diagnosis["shape"] = json!(null);
        assert_eq!(check_outline(&diagnosis, "d"), Ok(()));
        assert!(check(&diagnosis, "d").is_err());
    }

    #[test]
    fn unchecked_parts_may_be_anything() {
        let mut diagnosis = good();
        diagnosis["toolCalls"] = json!("many");
        diagnosis["findings"] = json!([null, 1]);
        diagnosis["byCategory"] =
            json!({ "of a later age": { "count": 1.5, "durationMs": -1, "more": true } });
        assert_eq!(check(&diagnosis, "d"), Ok(()));
    }

    #[test]
    fn normalization_fills_and_drops_categories() {
        let mut diagnosis = good();
        diagnosis["truncatedInput"] = json!(true);
        diagnosis["byCategory"] = json!({ "retry": { "count": 2, "durationMs": 1.5, "x": 1 }, "later": { "count": 1, "durationMs": 1 } });
        normalise(&mut diagnosis);
        assert_eq!(diagnosis["truncatedInput"], json!(true));
        assert_eq!(
            diagnosis["byCategory"]["retry"],
            json!({ "count": 2, "durationMs": 1.5 })
        );
        assert_eq!(
            diagnosis["byCategory"]["slow_tool"],
            json!({ "count": 0, "durationMs": 0 })
        );
        assert_eq!(diagnosis["byCategory"].as_object().unwrap().len(), 8);
    }
}
