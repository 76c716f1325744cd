//! The process dies at a statement, before a commit or after it; the bot repeats its request to the store opened
//! again, and the answers are still the model's.

use ars_testkit::ledger::{World, sequences};
use proptest::prelude::*;

use crate::model::{agree, cases};

/// Sequences.
const CASES: u32 = 5000;

proptest! {
    #![proptest_config(cases(CASES))]

    #[test]
    fn a_crash_leaves_all_of_a_request_or_nothing_of_it(sequence in sequences(&World::crashing())) {
        agree(&World::crashing(), &sequence)?;
    }
}
