//! Checks whether a record is stored exactly as readers see it.
//!
//! Nearly every record is canonical, because the bot that wrote it knows the same diagnosis categories as the store.
//! The check runs once, on write, so that lists need not parse every record.

use serde_json::{Map, Value};

use crate::diagnosis::normalise;

/// Category version in the column `plain`. Raise it whenever they change.
pub(crate) const CANONICAL: i64 = 1;

/// Returns whether readers see this record, stripped of its events, without a change.
pub(crate) fn is_canonical(record: &Map<String, Value>) -> bool {
    let Some(diagnosis) = record.get("diagnosis") else {
        return false;
    };
    let mut seen = diagnosis.clone();
    normalise(&mut seen);
    // The store computes `bytes`.
    record.contains_key("channelVisibility") && !record.contains_key("bytes") && seen == *diagnosis
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::diagnosis::CATEGORIES;

    fn record() -> Value {
        let zero = json!({ "count": 0, "durationMs": 0 });
        let totals: Map<_, _> = CATEGORIES
            .iter()
            .map(|name| ((*name).to_owned(), zero.clone()))
            .collect();
        json!({ "id": "r", "channelVisibility": "dm", "diagnosis": { "byCategory": totals, "verdict": "" } })
    }

    fn canonical(record: &Value) -> bool {
        is_canonical(record.as_object().unwrap())
    }

    #[test]
    fn current_categories_and_visibility_are_canonical() {
        assert!(canonical(&record()));
    }

    #[test]
    fn other_records_are_not_canonical() {
        for change in [
            |record: &mut Value| drop(record.as_object_mut().unwrap().remove("channelVisibility")),
            |record: &mut Value| record["bytes"] = json!(7),
            |record: &mut Value| record["diagnosis"]["byCategory"]["later"] = json!({}),
            |record: &mut Value| record["diagnosis"]["byCategory"]["retry"]["later"] = json!(1),
            |record: &mut Value| {
                drop(
                    record["diagnosis"]["byCategory"]
                        .as_object_mut()
                        .unwrap()
                        .remove("retry"),
                );
            },
            |record: &mut Value| drop(record.as_object_mut().unwrap().remove("diagnosis")),
        ] {
            let mut record = record();
            change(&mut record);
            assert!(!canonical(&record), "{record}");
        }
    }

    #[test]
    fn version_matches_the_categories() {
        // A change here requires a new version, so that old rows are parsed again.
        let known = "slow_tool,slow_model_turn,failed_tool,retry,setup_install,wrap_up,budget_hit,infra_failure";
        assert_eq!((CANONICAL, CATEGORIES.join(",").as_str()), (1, known));
    }
}
