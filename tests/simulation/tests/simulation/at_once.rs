//! Many runs at once in one process: each ends as one alone does, and they share their flushes (document 2 section 8).

use ars_tests_simulation::{Ended, play_at_once};

/// Runs at once, as the issue asks for.
const RUNS: usize = 200;
/// The flush's own bound: however many events there are, none begins sooner after the last one.
const GAP_MS: usize = 250;

#[test]
fn two_hundred_runs_at_once_end_with_one_record_and_one_reply_each_and_share_their_flushes() {
    let (ended, evidence) = play_at_once(RUNS as u64);
    assert_eq!(ended, Ended::Quiet);
    assert_eq!((evidence.runs.len(), evidence.left_live.len()), (RUNS, 0));
    for (id, run) in &evidence.runs {
        let record = run.record.as_ref().unwrap();
        assert_eq!((run.finals.len(), record["status"].as_str()), (1, Some("completed")), "{id}");
        let said: Vec<_> = evidence.said.iter().filter(|said| said.run.as_deref() == Some(id)).collect();
        assert_eq!(said.len(), 1, "{id}: {said:?}");
        let label = record["label"].as_str().unwrap();
        assert!(label.ends_with(&format!(" {}”", said[0].to)), "{label} answered {}", said[0].to);
    }
    assert_eq!(evidence.said.len(), RUNS);

    // The shared ones keep their distance; each run asks for itself once more at its end.
    let (flushes, took_ms) = (evidence.flushed_runs.len(), usize::try_from(evidence.took_ms).unwrap());
    let most = took_ms / GAP_MS + 1 + RUNS;
    assert!(flushes <= most, "{flushes} flushes, at most {most}, in {took_ms} ms");
    // Were each run flushed by itself, its own half seconds alone would be more.
    assert!(evidence.flushed_runs.iter().any(|runs| *runs > 1));
}
