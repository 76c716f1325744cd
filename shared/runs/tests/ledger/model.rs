//! Every answer is the model's, and so is what is left at the end.

use ars_testkit::ledger::{Sequence, Twin, World, play, sequences};
use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, TestCaseResult};

use crate::native::Native;

/// Sequences of each kind.
const CASES: u32 = 5000;

/// How a sequence that fails is kept.
pub fn cases(number: u32) -> ProptestConfig {
    let kept = FileFailurePersistence::WithSource("regressions");
    ProptestConfig { failure_persistence: Some(Box::new(kept)), ..ProptestConfig::with_cases(number) }
}

/// Plays to the native store and the model at once.
pub fn agree(world: &World, sequence: &Sequence) -> TestCaseResult {
    let (mut native, mut twin) = (Native::new(), Twin::default());
    let played = play(&mut native, &mut twin, world, sequence);
    let agreed = played.and_then(|()| twin.audit(&mut native, world, sequence.end(world.base)));
    agreed.map_err(TestCaseError::fail)
}

proptest! {
    #![proptest_config(cases(CASES))]

    #[test]
    fn every_answer_is_the_models(sequence in sequences(&World::calm())) {
        agree(&World::calm(), &sequence)?;
    }
}
