//! Kill points for the drills, and the outcome of a run that is killed there.

use End::{Completed, EitherWay, Interrupted, NoRun};

/// A run's outcome after a kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Another process finishes it.
    Completed,
    /// Another process closes it: not enough is stored to go on, or it may have replied.
    Interrupted,
    /// There is no record.
    NoRun,
    /// The point is reached concurrently with the loop: completed or interrupted.
    EitherWay,
}

/// Kill points for a drill's processes in order, and the run's outcome.
pub type Point = (&'static [&'static str], End);

/// Before the run has stored a step.
pub const BEGINNING: &[Point] = &[
    (&["ledger.claim.before:1"], NoRun),
    (&["ledger.claim.after:1"], Interrupted),
    (&["workspace.open.before:1"], Interrupted),
    (&["workspace.open.after:1"], Interrupted),
    (&["ledger.state.before:1"], Interrupted),
    (&["ledger.state.after:1"], Interrupted),
    (&["transcripts.set_owner.before:1"], Interrupted),
    (&["transcripts.set_owner.after:1"], Interrupted),
    (&["transcripts.write.before:1"], Interrupted),
    (&["transcripts.write.after:1"], Interrupted),
    (&["ledger.step.before:1"], Interrupted),
    (&["ledger.step.after:1"], Completed),
    (&["model.turn.before:1"], Completed),
    (&["model.turn.after:1"], Completed),
];

/// Points while the run works.
pub const MIDST: &[Point] = &[
    (&["transcripts.write.before:6"], Completed),
    (&["transcripts.write.after:6"], Completed),
    (&["ledger.step.before:6"], Completed),
    (&["ledger.step.after:6"], Completed),
    (&["model.turn.before:7"], Completed),
    (&["model.turn.after:7"], Completed),
    (&["workspace.exec.before:1"], Completed),
    (&["workspace.exec.after:1"], Completed),
    (&["workspace.exec.before:3"], Completed),
    (&["workspace.exec.after:3"], Completed),
    (&["workspace.write.before:1"], Completed),
    (&["workspace.write.after:1"], Completed),
];

/// Points while the run ends.
pub const ENDING: &[Point] = &[
    (&["workspace.exec.before:7"], Completed),
    (&["workspace.exec.after:7"], Completed),
    (&["model.turn.before:13"], Completed),
    (&["model.turn.after:13"], Completed),
    (&["ledger.state.before:2"], Completed),
    (&["ledger.state.after:2"], Interrupted),
    (&["ledger.finishing.before:1"], Interrupted),
    (&["ledger.finishing.after:1"], Interrupted),
    (&["ledger.state.before:3"], Interrupted),
    (&["ledger.state.after:3"], Completed),
    (&["ledger.finish.before:1"], Completed),
    (&["ledger.finish.after:1"], Completed),
];

/// Points concurrent with the loop, and in the process that reclaims the run.
pub const ELSEWHERE: &[Point] = &[
    (&["runs.put.before:1"], EitherWay),
    (&["runs.put.after:1"], EitherWay),
    (&["ledger.flush.before:1"], EitherWay),
    (&["ledger.flush.after:1"], EitherWay),
    (
        &["workspace.exec.before:2", "ledger.reclaim.before:1"],
        Completed,
    ),
    (
        &["workspace.exec.before:2", "ledger.reclaim.after:1"],
        Completed,
    ),
    (
        &["workspace.exec.after:2", "transcripts.read.after:1"],
        Completed,
    ),
    (
        &["workspace.exec.after:2", "ledger.live_events.after:1"],
        Completed,
    ),
    (&["model.turn.after:4", "ledger.state.after:1"], Completed),
    (&["model.turn.after:4", "model.turn.before:1"], Completed),
    (
        &["ledger.step.before:8", "workspace.exec.before:1"],
        Completed,
    ),
    (
        &["ledger.finishing.after:1", "ledger.finish.before:1"],
        Interrupted,
    ),
];
