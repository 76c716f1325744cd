//! A run killed at every write and every call, and the outcome in the next process.

use ars_agent::resume::Decision;
use ars_types::RunStatus;
use proptest::{collection::vec, prelude::*};

use crate::world::{Deed, End, Kill, STEPS, World, assert_no_repetition, assert_sound};

/// Rows in one request: as many as fit, one, and some that divide no turn.
const REQUESTS: [usize; 3] = [0, 1, 2];

/// Effects of a run that is not killed.
fn length(rows_per_request: usize) -> usize {
    let mut world = World::new(rows_per_request);
    let Ok(End::Answered(turns)) = world.begin() else { panic!("a run that nobody kills answers") };
    assert_sound(&turns, &world);
    world.deeds()
}

/// The verdict of the tables for a run killed at this effect.
#[derive(Debug, PartialEq)]
enum Verdict {
    Off,
    At(u64),
    Step(u64),
}

fn expected(deed: Deed, landed: bool) -> Verdict {
    match deed {
        Deed::Turns { step, nth, turns, of } => match nth + usize::from(landed) {
            0 => step.checked_sub(1).map_or(Verdict::Off, Verdict::At),
            requests if requests == of && turns == 2 => Verdict::Step(step),
            // With one turn, or a part of two, the dispatched calls are unknown.
            _ => Verdict::Off,
        },
        Deed::Record { step } if landed => Verdict::At(step),
        Deed::Record { step: 0 | 1 } => Verdict::Off,
        Deed::Record { step } => Verdict::Step(step),
        Deed::Ending if landed => Verdict::Off,
        Deed::Ending => Verdict::At(STEPS),
        Deed::Call | Deed::Attempts => unreachable!("a call belongs to the step before it"),
    }
}

#[test]
fn every_cut_matches_the_tables() {
    for requests in REQUESTS {
        let mut step = 0;
        for at in 0..length(requests) {
            for landed in [false, true] {
                let mut world = World::new(requests);
                world.kill(Some(Kill { at, landed }));
                world.begin().unwrap_err();
                let deed = world.last.unwrap();
                if let Deed::Record { step: current } = deed {
                    step = current;
                }
                let verdict = match deed {
                    Deed::Call => Verdict::At(step),
                    deed => expected(deed, landed),
                };
                let decided = match world.decide() {
                    Decision::Close { status, .. } => {
                        assert_eq!(status, RunStatus::Interrupted);
                        Verdict::Off
                    }
                    Decision::Resume(resume) => Verdict::At(resume.record.step),
                    Decision::RunStep(step) => Verdict::Step(step.record.step),
                };
                assert_eq!(decided, verdict, "{deed:?} {landed}");
                world.kill(None);
                match world.take_over().unwrap() {
                    End::Answered(turns) => assert_sound(&turns, &world),
                    End::Closed(_) => assert_no_repetition(&world),
                }
            }
        }
    }
}

#[test]
fn every_pair_of_cuts_ends_soundly() {
    for first in 0..length(0) {
        for second in 0.. {
            let mut reached = true;
            for landed in [(false, false), (false, true), (true, false), (true, true)] {
                let mut world = World::new(0);
                world.kill(Some(Kill { at: first, landed: landed.0 }));
                world.begin().unwrap_err();
                world.kill(Some(Kill { at: second, landed: landed.1 }));
                let end = world.take_over();
                reached = end.is_err();
                world.kill(None);
                match end.or_else(|_| world.take_over()).unwrap() {
                    End::Answered(turns) => assert_sound(&turns, &world),
                    End::Closed(_) => assert_no_repetition(&world),
                }
            }
            if !reached {
                break;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// At any number of kills, no call repeats that must not, and the run answers or is closed.
    #[test]
    fn any_series_of_cuts_ends_soundly(
        cuts in vec((0_usize..40, any::<bool>()), 0..12),
        requests in 0_usize..4,
    ) {
        let mut world = World::new(requests);
        let mut lives = cuts.into_iter().map(|(at, landed)| Kill { at, landed });
        world.kill(lives.next());
        let mut end = world.begin();
        while end.is_err() {
            world.kill(lives.next());
            end = world.take_over();
        }
        match end.unwrap() {
            End::Answered(turns) => assert_sound(&turns, &world),
            End::Closed(status) => prop_assert_eq!(status, RunStatus::Interrupted),
        }
        assert_no_repetition(&world);
    }
}
