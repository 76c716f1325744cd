//! Random operations and faults. `World::check` states what holds after every one of them.

use ars_resident::lifecycle::{Admission, DownCause, Input, Slot, StateWord, Step};
use proptest::prelude::*;

use crate::world::{MINUTE, World, config, failure, sha};

/// An operation or a fault.
#[derive(Debug, Clone, Copy)]
enum Op {
    Finish,
    Fail,
    FailMint,
    DiskFull,
    Killed,
    LoseAnswer,
    RepeatAnswer(u8),
    Crash,
    ReplaceRuntime,
    StopIdle,
    Tick,
    Wait(u8),
    Watchdog,
    Attach,
    Probe,
    Edit,
    Save,
    Push,
    Rebuild,
    Reconfigure,
    RefreshNow,
    Checkpoint,
    KillRefresh,
    ForceOnboarding,
    ForceDown,
    CorruptSnapshot,
    RowRemoved,
    Onboard,
    ToggleAnswers,
    Bytes(u8),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        30 => Just(Op::Finish),
        10 => Just(Op::Tick),
        2 => Just(Op::Fail),
        2 => Just(Op::FailMint),
        1 => Just(Op::DiskFull),
        2 => Just(Op::Killed),
        2 => Just(Op::LoseAnswer),
        2 => any::<u8>().prop_map(Op::RepeatAnswer),
        2 => Just(Op::Crash),
        2 => Just(Op::ReplaceRuntime),
        1 => Just(Op::StopIdle),
        3 => any::<u8>().prop_map(Op::Wait),
        3 => Just(Op::Watchdog),
        4 => Just(Op::Attach),
        1 => Just(Op::Probe),
        2 => Just(Op::Edit),
        2 => Just(Op::Save),
        3 => Just(Op::Push),
        1 => Just(Op::Rebuild),
        1 => Just(Op::Reconfigure),
        2 => Just(Op::RefreshNow),
        2 => Just(Op::Checkpoint),
        1 => Just(Op::KillRefresh),
        1 => Just(Op::ForceOnboarding),
        1 => Just(Op::ForceDown),
        1 => Just(Op::CorruptSnapshot),
        1 => Just(Op::RowRemoved),
        1 => Just(Op::Onboard),
        1 => Just(Op::ToggleAnswers),
        2 => any::<u8>().prop_map(Op::Bytes),
    ]
}

fn perform(world: &mut World, op: Op) {
    match op {
        Op::Finish => world.finish(),
        Op::Fail => world.fail(failure("it does not work")),
        Op::FailMint => {
            if world.running.is_some_and(|(_, step)| step == Step::Mint) {
                world.fail(failure("the app has no key"));
            }
        }
        Op::DiskFull => world.fail(failure("No space left on device")),
        Op::Killed => world.fail(ars_resident::lifecycle::Failure {
            exit_code: Some(143),
            ..failure("")
        }),
        Op::LoseAnswer => {
            if let Some((_, step)) = world.running.take() {
                let _ = world.work(step);
            }
        }
        Op::RepeatAnswer(index) => {
            if let Some((attempt, result)) = world.ended.get(usize::from(index)).cloned() {
                world.apply(Input::StepEnded { attempt, result });
            }
        }
        Op::Crash => world.crash(),
        Op::ReplaceRuntime => world.replace_runtime(),
        Op::StopIdle => {
            if !world.is_dirty() && world.running.is_none() {
                world.stop_runtime();
                world.apply(Input::Stopped);
            }
        }
        Op::Tick => world.tick(),
        Op::Wait(minutes) => {
            world.now += i64::from(minutes) * MINUTE;
            if world.alarm.is_some_and(|at| at <= world.now) {
                world.tick();
            }
        }
        Op::Watchdog => world.watchdog(),
        Op::Attach => {
            world.attach();
        }
        Op::Probe => world.probe(),
        Op::Edit => {
            if world.attach() == Admission::Serve
                && let Some(runtime) = &mut world.runtime
            {
                runtime.is_dirty = true;
            }
        }
        Op::Save => world
            .runtime
            .iter_mut()
            .for_each(|runtime| runtime.is_dirty = false),
        Op::Push => world.host = world.host.wrapping_add(1),
        Op::Rebuild => world.apply(Input::Rebuild),
        Op::Reconfigure => world.apply(Input::Reconfigure(config())),
        Op::RefreshNow => world.apply(Input::RefreshNow),
        Op::Checkpoint => world.checkpoint(),
        Op::KillRefresh => world.apply(Input::KillRefresh),
        Op::ForceOnboarding => {
            if world.has_row {
                world.apply(Input::ForceOnboarding);
            }
        }
        Op::ForceDown => {
            if world.has_row {
                world.apply(Input::ForceDown {
                    cause: DownCause::RestoreFailed,
                    detail: "forced".to_owned(),
                });
            }
        }
        Op::CorruptSnapshot => {
            if let Some(content) = world.objects.values_mut().next_back() {
                *content = sha(255);
            }
        }
        Op::RowRemoved => {
            if world.has_row {
                world.has_row = false;
                world.apply(Input::Offboard);
            }
        }
        Op::Onboard => {
            if !world.has_row {
                world.onboard();
            }
        }
        Op::ToggleAnswers => world.loses_answers = !world.loses_answers,
        Op::Bytes(bytes) => {
            let attempt = world.running.map_or(0, |(attempt, _)| attempt);
            world.apply(Input::Progress {
                attempt,
                bytes: u64::from(bytes),
            });
        }
    }
}

/// Generates a resident that was just onboarded, is warm, or restores the tree.
fn start() -> impl Strategy<Value = World> {
    (0..4).prop_map(|kind| {
        let mut world = World::new();
        world.onboard();
        if kind > 0 {
            world.run_until(|world| world.state() == StateWord::Warm);
        }
        if kind == 3 {
            world.stop_runtime();
            world.attach();
        }
        world
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The sentences in `World::check` hold under every order of operations and faults.
    #[test]
    fn invariants_hold_under_faults(mut world in start(), ops in prop::collection::vec(op(), 0..160)) {
        for op in ops {
            perform(&mut world, op);
            world.check();
            // No chain breaks: whatever is due has an alarm.
            if let Some(due) = world.resident.alarm() {
                prop_assert!(world.alarm.is_some_and(|at| at <= due.max(world.now)), "{:?}", op);
            }
        }
    }

    /// Once faults end, a resident is warm, or down for a reason that needs a person.
    /// No slot is leaked.
    #[test]
    fn resident_settles_after_faults(mut world in start(), ops in prop::collection::vec(op(), 0..120)) {
        for op in ops {
            perform(&mut world, op);
        }
        world.loses_answers = false;
        for object in world.objects.clone().keys() {
            // Archives are intact again; a wrong archive would make it rebuild.
            if let Some(snapshot) = world.resident.snapshot() && snapshot.backups().contains(object) {
                world.objects.insert(object.clone(), snapshot.stamp.sha.clone());
            }
        }
        world.crash();
        for _ in 0..60 {
            world.now += 10 * MINUTE;
            world.watchdog();
            for _ in 0..60 {
                let is_due = world.alarm.is_some_and(|at| at <= world.now);
                if world.running.is_some() { world.finish() } else if is_due { world.tick() }
            }
        }
        let (state, reason) = world.resident.status();
        let needs_person = reason.as_ref().is_some_and(|reason| reason.starts_with("provision-"));
        let is_gone = world.resident.is_blank() && !world.has_row;
        prop_assert!(state == StateWord::Warm || needs_person || is_gone, "{:?} {:?}", state, reason);
        prop_assert_eq!(world.has_row, world.resident.slot() == Slot::Held);
        prop_assert!(world.resident.slot() != Slot::Releasing);
    }

    /// A mint failure never changes the state: with and without it, the same states follow.
    #[test]
    fn mint_failure_changes_no_state(start in start(), ops in prop::collection::vec(op(), 0..120)) {
        let [mut minted, mut refused] = [start.clone(), start];
        for op in ops {
            // An answer is repeated by number, and a mint has another answer here.
            if matches!(op, Op::RepeatAnswer(_) | Op::Fail | Op::DiskFull | Op::Killed) {
                continue;
            }
            let is_mint = minted.running.is_some_and(|(_, step)| step == Step::Mint);
            if is_mint && matches!(op, Op::Finish | Op::FailMint) {
                minted.finish();
                refused.fail(failure("mint refused"));
            } else {
                perform(&mut minted, op);
                perform(&mut refused, op);
            }
            prop_assert_eq!(minted.resident.status(), refused.resident.status());
            prop_assert_eq!(minted.alarm, refused.alarm);
        }
    }
}
