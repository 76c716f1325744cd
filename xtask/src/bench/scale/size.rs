//! The measurements and their sizes.

use clap::ValueEnum;

use crate::bench::aims::WATCHED_BY;

/// The measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Row {
    /// The cost of a turn
    Turns,
    /// The cost of a command under each kind of sandbox, and without one
    Sandbox,
    /// Runs that wait for their model: their memory, and how soon they are accepted
    Idle,
    /// Two hundred runs at once
    Many,
    /// A run with no, a hundred and a thousand viewers
    Viewers,
    /// One run of two thousand turns with large outputs
    Soak,
}

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Runs of each number of turns.
    pub repeats: u32,
    /// Commands under each kind of sandbox.
    pub commands: u32,
    /// Runs that wait.
    pub waiting: u32,
    /// Runs at once.
    pub at_once: u32,
    /// Tool turns of each.
    pub turns_at_once: u32,
    /// Numbers of viewers.
    pub viewers: &'static [usize],
    /// Tool turns of the run they see.
    pub watched_turns: u32,
    /// Turns of the long run after which its memory is looked at.
    pub soak: &'static [u32],
}

impl Size {
    /// The full measurement.
    pub const FULL: Self = Self {
        repeats: u32::MAX,
        commands: 200,
        waiting: 100,
        at_once: 200,
        turns_at_once: 12,
        viewers: &[0, WATCHED_BY, 1000],
        watched_turns: 60,
        soak: &[200, 500, 1000, 2000],
    };
    /// The same aims in two minutes.
    pub const QUICK: Self = Self {
        repeats: 1,
        commands: 50,
        waiting: 30,
        at_once: 50,
        viewers: &[WATCHED_BY],
        soak: &[100, 200],
        ..Self::FULL
    };
    /// Each measurement once and as small as possible; its figures are meaningless.
    pub const SMOKE: Self = Self {
        repeats: 1,
        commands: 2,
        waiting: 2,
        at_once: 3,
        turns_at_once: 2,
        viewers: &[2],
        watched_turns: 8,
        soak: &[2, 4],
    };
}
