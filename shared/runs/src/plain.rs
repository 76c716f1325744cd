//! Whether a record is stored just as readers see it (state-worker supplement sections 5.5 and 8.1).
//!
//! Nearly every record is: the bot that wrote it knows the same categories as the store. Knowing it once, when it is
//! written, spares every list the taking apart of every record.

use serde_json::{Map, Value};

use crate::diagnosis::normalise;

/// Stands for the categories of today in the column `plain`. To be raised with every change of them.
pub(crate) const PLAIN: i64 = 1;

/// Whether readers see this record, which has no events any more, without a change.
pub(crate) fn is_plain(record: &Map<String, Value>) -> bool {
    let Some(diagnosis) = record.get("diagnosis") else { return false };
    let mut seen = diagnosis.clone();
    normalise(&mut seen);
    // `bytes` is the store's to tell.
    record.contains_key("channelVisibility") && !record.contains_key("bytes") && seen == *diagnosis
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::diagnosis::CATEGORIES;

    fn record() -> Value {
        let zero = json!({ "count": 0, "durationMs": 0 });
        let totals: Map<_, _> = CATEGORIES.iter().map(|name| ((*name).to_owned(), zero.clone())).collect();
        json!({ "id": "r", "channelVisibility": "dm", "diagnosis": { "byCategory": totals, "verdict": "" } })
    }

    fn plain(record: &Value) -> bool {
        is_plain(record.as_object().unwrap())
    }

    #[test]
    fn a_record_with_todays_categories_and_a_visibility_is_plain() {
        assert!(plain(&record()));
    }

    #[test]
    fn what_readers_see_otherwise_is_not() {
        for change in [
            |record: &mut Value| drop(record.as_object_mut().unwrap().remove("channelVisibility")),
            |record: &mut Value| record["bytes"] = json!(7),
            |record: &mut Value| record["diagnosis"]["byCategory"]["later"] = json!({}),
            |record: &mut Value| record["diagnosis"]["byCategory"]["retry"]["later"] = json!(1),
            |record: &mut Value| {
                drop(record["diagnosis"]["byCategory"].as_object_mut().unwrap().remove("retry"));
            },
            |record: &mut Value| drop(record.as_object_mut().unwrap().remove("diagnosis")),
        ] {
            let mut record = record();
            change(&mut record);
            assert!(!plain(&record), "{record}");
        }
    }

    #[test]
    fn the_number_stands_for_these_categories() {
        // A change here needs another number: rows that bear the old one are then taken apart again.
        let known =
            "slow_tool,slow_model_turn,failed_tool,retry,setup_install,wrap_up,budget_hit,infra_failure";
        assert_eq!((PLAIN, CATEGORIES.join(",").as_str()), (1, known));
    }
}
