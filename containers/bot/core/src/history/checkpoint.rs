//! The working tree's last checkpoint, stored in a run's record beside the events.

use ars_events::checkpoint_in;
use ars_runs::RunRecord;
use serde_json::Value;

/// Additional record field: the name of the working tree's last checkpoint.
pub const CHECKPOINT: &str = "checkpoint";

/// Adds the last checkpoint from the record's events, if present.
pub fn add_checkpoint(record: &mut RunRecord) {
    if let Some(name) = last_checkpoint(&record.events).map(Value::from) {
        record.extra.insert(CHECKPOINT.to_owned(), name);
    }
}

/// Returns the last checkpoint's name from the events.
pub fn last_checkpoint(events: &[Value]) -> Option<String> {
    let notes = events
        .iter()
        .rev()
        .filter(|event| event["type"] == "run_note" && event["kind"] == "tree");
    notes
        .filter_map(|note| checkpoint_in(note["summary"].as_str()?))
        .next()
        .map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn last_checkpoint_is_a_field_of_the_record() {
        let note = |kind: &str, summary: &str| json!({ "type": "run_note", "kind": kind, "summary": summary });
        let events = [
            note("tree", "saved as refs/ars/r/1 abc"),
            note("tree", "saved as refs/ars/r/2 abc, without a.txt"),
            note("follow_up", "saved as refs/ars/r/3 abc"),
            note("tree", "local working tree"),
        ];
        assert_eq!(last_checkpoint(&events).as_deref(), Some("refs/ars/r/2"));
        let mut record = RunRecord::from_stored(json!({
            "id": "r", "channelId": "c", "userId": "u", "threadKey": "t", "startedAt": 1, "finishedAt": 9,
            "status": "completed", "eventCount": 4, "storedEventCount": 4, "truncated": false, "events": events,
            "diagnosis": { "findings": [], "eventCount": 4, "verdict": "", "byCategory": {} },
        }))
        .unwrap();
        add_checkpoint(&mut record);
        assert_eq!(record.extra[CHECKPOINT], "refs/ars/r/2");
        record.events.clear();
        record.extra.clear();
        add_checkpoint(&mut record);
        assert!(record.extra.is_empty());
    }
}
