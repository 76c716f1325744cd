//! Transcripts have an independent fence. Ledger requests must not change them.

use ars_testkit::ledger::{World, sequences};
use proptest::prelude::*;

use crate::model::{assert_matches_model, cases};

/// Number of sequences to play.
const CASES: u32 = 1000;

proptest! {
    #![proptest_config(cases(CASES))]

    #[test]
    fn transcript_writes_are_fenced_and_atomic(sequence in sequences(&World::of_transcripts())) {
        assert_matches_model(&World::of_transcripts(), &sequence)?;
    }
}
