//! Transcripts that nothing cleared.

use ars_runs::{ABANDONED_AGE_MS, TranscriptStore};
use ars_sql_native::NativeSql;
use ars_store::Store as _;
use ars_wire::state::TranscriptVerb;

const NOW: i64 = 1_760_000_000_000;

fn written(store: &TranscriptStore<NativeSql>, run: &str, now: i64) {
    let owner = format!(r#"{{"runId":"{run}","gen":"g1"}}"#);
    store.answer(TranscriptVerb::Owner, &owner, now).unwrap();
    let row = r#"[{"idx":0,"part":0,"json":"{}"}]"#;
    let write = format!(r#"{{"runId":"{run}","gen":"g1","rows":{row},"attachments":[]}}"#);
    store.answer(TranscriptVerb::Write, &write, now).unwrap();
}

fn has_rows(store: &TranscriptStore<NativeSql>, run: &str) -> bool {
    let read = store
        .answer(
            TranscriptVerb::Read,
            &format!(r#"{{"runId":"{run}"}}"#),
            NOW,
        )
        .unwrap();
    read.contains(r#""idx":0"#)
}

#[test]
fn transcript_that_was_not_cleared_is_deleted() {
    let store = TranscriptStore::open(NativeSql::in_memory().unwrap()).unwrap();
    assert!(store.arms_sweep(TranscriptVerb::Write) && !store.arms_sweep(TranscriptVerb::Read));
    written(&store, "r1", NOW);
    written(&store, "r2", NOW + 86_400_000);
    assert_eq!(store.sweep(NOW + ABANDONED_AGE_MS - 1).unwrap(), 0);
    assert_eq!(store.sweep(NOW + ABANDONED_AGE_MS).unwrap(), 1);
    assert_eq!(
        (has_rows(&store, "r1"), has_rows(&store, "r2")),
        (false, true)
    );
    assert_eq!(store.sweep(NOW + 2 * ABANDONED_AGE_MS).unwrap(), 1);
    assert!(store.is_empty().unwrap());
}
