//! Every answer and the final state match the model.

use ars_testkit::ledger::{Sequence, Twin, World, play, sequences};
use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, TestCaseResult};

use crate::native::Native;

/// How many sequences of each kind to play.
const CASES: u32 = 5000;

/// Returns the configuration, including where failing sequences are stored.
pub fn cases(number: u32) -> ProptestConfig {
    let kept = FileFailurePersistence::WithSource("regressions");
    ProptestConfig {
        failure_persistence: Some(Box::new(kept)),
        ..ProptestConfig::with_cases(number)
    }
}

/// Plays a sequence against the native store and the model.
pub fn assert_matches_model(world: &World, sequence: &Sequence) -> TestCaseResult {
    let mut native = Native::new();
    let mut twin = Twin::default();
    let played = play(&mut native, &mut twin, world, sequence);
    let agreed = played.and_then(|()| twin.audit(&mut native, world, sequence.end(world.base)));
    agreed.map_err(TestCaseError::fail)
}

proptest! {
    #![proptest_config(cases(CASES))]

    #[test]
    fn every_answer_matches_the_model(sequence in sequences(&World::calm())) {
        assert_matches_model(&World::calm(), &sequence)?;
    }
}
