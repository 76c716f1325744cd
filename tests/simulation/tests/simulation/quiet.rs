//! The canonical run when nothing goes wrong: what all other scenarios are measured by.

use ars_tests_simulation::{Ended, Plan, play, violations};

#[test]
fn the_canonical_run_takes_twelve_model_calls_and_answers_once() {
    let (ended, evidence) = play(&Plan::default());
    assert_eq!(violations(ended, &evidence), [], "{}", evidence.tail());
    assert_eq!(ended, Ended::Quiet);
    let count = |name: &str| evidence.calls.iter().filter(|call| call.2 == name).count();
    assert_eq!(count("model"), 12);
    let effects: Vec<_> = evidence.effects.iter().map(|effect| effect.call.as_str()).collect();
    assert_eq!(effects, ["t1c0", "t2c0", "t5c1", "t6c0", "t6c1", "t7c1", "t8c0", "t9c0", "t10c0"]);
    assert_eq!(evidence.said.len(), 1);
    assert_eq!(evidence.said[0].text, "Done. Heard: m0 f1");
    let run = evidence.runs.values().next().unwrap();
    assert_eq!(run.record.as_ref().unwrap()["status"], "completed");
    assert!(!run.acknowledged.is_empty());
}
