//! Concurrent runs in a single process: each ends like a single run, and they share flushes.

use ars_tests_simulation::{Ended, play_at_once};

/// How many runs are concurrent.
const RUNS: usize = 200;
/// Minimum interval between flushes, independent of the event count.
const GAP_MS: usize = 250;

#[test]
fn two_hundred_concurrent_runs_share_flushes() {
    let (ended, evidence) = play_at_once(RUNS as u64);
    assert_eq!(ended, Ended::Quiet);
    assert_eq!((evidence.runs.len(), evidence.left_live.len()), (RUNS, 0));
    for (id, run) in &evidence.runs {
        let record = run.record.as_ref().unwrap();
        assert_eq!(
            (run.finals.len(), record["status"].as_str()),
            (1, Some("completed")),
            "{id}"
        );
        let delivered: Vec<_> = evidence
            .delivered
            .iter()
            .filter(|delivered| delivered.run.as_deref() == Some(id))
            .collect();
        assert_eq!(delivered.len(), 1, "{id}: {delivered:?}");
        let label = record["label"].as_str().unwrap();
        assert!(
            label.ends_with(&format!(" {}”", delivered[0].to)),
            "{label} answered {}",
            delivered[0].to
        );
    }
    assert_eq!(evidence.delivered.len(), RUNS);

    // Shared flushes keep the interval. Each run flushes once more when it ends.
    let flushes = evidence.flushed_runs.len();
    let took_ms = usize::try_from(evidence.took_ms).unwrap();
    let most = took_ms / GAP_MS + 1 + RUNS;
    assert!(
        flushes <= most,
        "{flushes} flushes, at most {most}, in {took_ms} ms"
    );
    // Separate flushes per run would be more.
    assert!(evidence.flushed_runs.iter().any(|runs| *runs > 1));
}
