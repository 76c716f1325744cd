//! Transcripts with their own fence, among requests of the ledger that must not touch them.

use ars_testkit::ledger::{World, sequences};
use proptest::prelude::*;

use crate::model::{agree, cases};

/// Sequences.
const CASES: u32 = 1000;

proptest! {
    #![proptest_config(cases(CASES))]

    #[test]
    fn a_transcript_is_its_owners_and_lands_whole_or_not_at_all(sequence in sequences(&World::of_transcripts())) {
        agree(&World::of_transcripts(), &sequence)?;
    }
}
