//! Limits on the runtime's figures (docs/testing.md), and which figures exceed theirs.

use anyhow::{Result, ensure};

/// A limit on a figure.
#[derive(Debug, Clone, Copy)]
pub struct Aim {
    /// The quantity to measure.
    what: &'static str,
    /// The most it may be.
    most: f64,
    /// Unit of the figure.
    unit: &'static str,
}

/// A turn's CPU with the durable step, including the tool's process.
pub const CPU_PER_TURN: Aim = Aim {
    what: "CPU a turn",
    most: 6.0,
    unit: "ms",
};
/// Wall time for such a turn.
pub const WALL_PER_TURN: Aim = Aim {
    what: "time a turn",
    most: 10.0,
    unit: "ms",
};
/// Time that a sandbox adds to a command.
pub const SANDBOX_WALL: Aim = Aim {
    what: "time of the sandbox a command",
    most: 6.0,
    unit: "ms",
};
/// CPU that a sandbox adds to a command.
pub const SANDBOX_CPU: Aim = Aim {
    what: "CPU of the sandbox a command",
    most: 2.0,
    unit: "ms",
};
/// Process memory after a run with [`PEAK_TURNS`].
pub const PEAK: Aim = Aim {
    what: "peak memory",
    most: 40.0,
    unit: "MB",
};
/// The turns that [`PEAK`] speaks of.
pub const PEAK_TURNS: u32 = 200;
/// Turns from which a run's fixed cost is negligible.
pub const AMORTIZED_TURNS: u32 = 50;
/// Memory that each further waiting run takes.
pub const PER_IDLE_RUN: Aim = Aim {
    what: "memory of a waiting run",
    most: 1.0,
    unit: "MB",
};
/// From a request to the run's claim and the 202.
pub const TO_ACCEPTED: Aim = Aim {
    what: "request to 202, p50",
    most: 10.0,
    unit: "ms",
};
/// An event's age when [`WATCHED_BY`] viewers see it.
pub const EVENT_AGE: Aim = Aim {
    what: "age of an event, p99",
    most: 20.0,
    unit: "ms",
};
/// A warm attach to the small repository's resident, by a single thread.
pub const ATTACH_SMALL: Aim = Aim {
    what: "attach, p50",
    most: 150.0,
    unit: "ms",
};
/// The same on the medium repository.
pub const ATTACH_MEDIUM: Aim = Aim {
    what: "attach, p50",
    most: 250.0,
    unit: "ms",
};
/// An attach beside a clone with installation: at least 40 times as fast.
pub const ATTACH_RATIO: Aim = Aim {
    what: "attach / clone+install, p50",
    most: 1.0 / 40.0,
    unit: "times",
};
/// A resident's command that does nothing.
pub const EXEC: Aim = Aim {
    what: "exec, p50",
    most: 15.0,
    unit: "ms",
};
/// Restoring the small repository after the disk is lost.
pub const RESTORE: Aim = Aim {
    what: "restore",
    most: 5_000.0,
    unit: "ms",
};
/// A checkpoint on the small repository's tree, by a single thread.
pub const CHECKPOINT: Aim = Aim {
    what: "checkpoint, p50",
    most: 20.0,
    unit: "ms",
};
/// How long other clients wait under load, beside their wait without it.
pub const OVERLOAD: Aim = Aim {
    what: "p99 of the others / without the load",
    most: 2.0,
    unit: "times",
};
/// From a mention in a chat to its receipt.
pub const TO_RECEIPT: Aim = Aim {
    what: "mention to receipt, p50",
    most: 50.0,
    unit: "ms",
};
/// From a mention in a chat to the card of its run.
pub const TO_CARD: Aim = Aim {
    what: "mention to card, p50",
    most: 300.0,
    unit: "ms",
};
/// CPU of a core while many threads have live cards and their runs wait.
pub const LIVE_THREADS: Aim = Aim {
    what: "CPU of live threads",
    most: 5.0,
    unit: "% of a core",
};
/// The viewers that [`EVENT_AGE`] speaks of.
pub const WATCHED_BY: usize = 100;

/// Which aims were held so far.
#[derive(Debug, Default)]
pub struct Verdicts {
    missed: Vec<String>,
}

impl Verdicts {
    /// Compares a figure with the limit and returns a line with both. `at` tells several figures
    /// under the same limit apart.
    pub fn hold(&mut self, aim: Aim, at: &str, figure: f64) -> String {
        let Aim { what, most, unit } = aim;
        let is_held = figure <= most;
        let line = format!(
            "  {what}{at}: {figure:.2} {unit}, at most {most} {unit}: {}",
            if is_held { "ok" } else { "MISSED" }
        );
        if !is_held {
            self.missed.push(line.trim().to_owned());
        }
        line
    }

    /// Fails when an aim was missed.
    pub fn check(&self) -> Result<()> {
        ensure!(
            self.missed.is_empty(),
            "{} missed:\n{}",
            self.missed.len(),
            self.missed.join("\n")
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_missed_limit_fails() {
        let mut verdicts = Verdicts::default();
        assert_eq!(
            verdicts.hold(CPU_PER_TURN, " of 50", 6.0),
            "  CPU a turn of 50: 6.00 ms, at most 6 ms: ok"
        );
        assert!(verdicts.check().is_ok());
        assert!(verdicts.hold(PEAK, "", 40.1).ends_with("MISSED"));
        assert_eq!(
            verdicts.check().unwrap_err().to_string(),
            "1 missed:\npeak memory: 40.10 MB, at most 40 MB: MISSED"
        );
    }
}
