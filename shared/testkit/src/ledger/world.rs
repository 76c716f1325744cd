//! Sequence parameters: names, times, weights and crashes.

use super::payload::Name;

const DAY_MS: i64 = 86_400_000;
/// 2023-11-14, so late that no clock change leads to a negative time.
const NATIVE_BASE: i64 = 1_700_000_000_000;

/// Parameters for generating sequences.
#[derive(Debug, Clone)]
pub struct World {
    /// Where the clock starts.
    pub base: i64,
    pub(super) requests: std::ops::Range<usize>,
    pub(super) leases: &'static [i64],
    /// Clock changes. Most steps have none.
    pub(super) jumps: &'static [i64],
    /// The `now` of a reclaim, relative to the base. Without it the server's clock counts.
    pub(super) reclaims: &'static [i64],
    /// A record's finish time, relative to the base.
    pub(super) endings: &'static [i64],
    /// Crashes per hundred steps.
    pub(super) crashes: u32,
    pub(super) sweeps: bool,
    /// Weights for ledger, history and transcript requests.
    pub(super) weights: [u32; 3],
}

impl World {
    /// The runs in every sequence.
    pub const RUNS: &'static [Name] = &["r1", "r2", "r3"];

    /// A native store with the sequence's clock, without crashes.
    pub fn calm() -> Self {
        Self {
            base: NATIVE_BASE,
            requests: 1..80,
            leases: &[1000, 30_000, 3_600_000],
            jumps: &[
                1,
                999,
                1000,
                30_000,
                -1000,
                -30_000,
                3_600_000,
                -3_600_000,
                2 * DAY_MS,
                40 * DAY_MS,
                -40 * DAY_MS,
            ],
            reclaims: &[0, 30_000, -30_000, DAY_MS, 100 * DAY_MS],
            endings: &[0, -10, 5, -DAY_MS, -29 * DAY_MS, -40 * DAY_MS, 3 * DAY_MS],
            crashes: 0,
            sweeps: true,
            weights: [10, 3, 0],
        }
    }

    /// The same, crashing at one request in five.
    pub fn crashing() -> Self {
        Self {
            crashes: 20,
            ..Self::calm()
        }
    }

    /// Mostly transcripts, crashing at one request in ten.
    pub fn of_transcripts() -> Self {
        Self {
            crashes: 10,
            weights: [1, 1, 10],
            ..Self::calm()
        }
    }

    /// The deployed Worker, which uses its own clock. Every lease is far from expiry or long
    /// expired, and every record far from the retention limit.
    pub fn on_the_edge(base: i64) -> Self {
        Self {
            base,
            requests: 1..40,
            leases: &[1_800_000, 3_600_000],
            jumps: &[],
            reclaims: &[-DAY_MS, DAY_MS, 2 * DAY_MS],
            endings: &[-10, -1000, -DAY_MS, -40 * DAY_MS],
            crashes: 1,
            sweeps: false,
            weights: [10, 3, 2],
        }
    }

    /// Keeps ledger requests only.
    pub fn without_history(self) -> Self {
        Self {
            weights: [1, 0, 0],
            ..self
        }
    }
}
