//! An operation's durations, and how many calls failed or found no free user.

use std::time::{Duration, Instant};

use ars_bot_ports::ResidentsError;
use serde_json::json;

use crate::threads::Attached;

/// A measured operation's durations and failures.
#[derive(Default)]
pub struct Samples {
    times: Vec<Duration>,
    errors: usize,
    refused: usize,
}

impl Samples {
    /// Makes samples with a single success.
    pub fn single(time: Duration) -> Self {
        Self {
            times: vec![time],
            ..Self::default()
        }
    }

    /// Adds a successful call's duration.
    pub fn add(&mut self, time: Duration) {
        self.times.push(time);
    }

    /// Adds a call: a success with the duration, a call without a free user, or an error.
    pub fn note(&mut self, (time, result): (Duration, Result<Attached, ResidentsError>)) {
        match result {
            Ok(Attached::Yes | Attached::Spare) => self.times.push(time),
            Ok(Attached::NoFreeUser) => self.refused += 1,
            Err(error) => {
                eprintln!("{error}");
                self.errors += 1;
            }
        }
    }

    /// Returns a percentile over successes in milliseconds, by the nearest rank.
    fn percentile(&self, percent: usize) -> Option<f64> {
        let mut times = self.times.clone();
        times.sort_unstable();
        let rank = (times.len() * percent).div_ceil(100).max(1);
        times.get(rank - 1).map(|time| time.as_secs_f64() * 1_000.0)
    }

    /// Prints the percentiles and the counts as a JSON line.
    pub fn print(&self, threads: usize, operation: &str) {
        let line = json!({
            "threads": threads, "operation": operation, "p50Ms": self.percentile(50),
            "p95Ms": self.percentile(95), "count": self.times.len(), "refused": self.refused,
            "errors": self.errors,
        });
        println!("{line}");
    }
}

/// Attach calls, by spare tree or new clone. Those without a tree count with the spare.
#[derive(Default)]
pub struct Attaches {
    spare: Samples,
    own: Samples,
}

impl Attaches {
    /// Adds an attach call to the samples for the tree that it got.
    pub fn note(&mut self, (time, result): (Duration, Result<Attached, ResidentsError>)) {
        let samples = if matches!(result, Ok(Attached::Yes)) {
            &mut self.own
        } else {
            &mut self.spare
        };
        samples.note((time, result));
    }

    /// Prints both as JSON lines.
    pub fn print(&self, threads: usize, during: &str) {
        self.spare.print(threads, &format!("attach{during}"));
        self.own.print(threads, &format!("attach, clone{during}"));
    }
}

/// Measures how long a future takes.
pub async fn timed<T>(work: impl Future<Output = T>) -> (Duration, T) {
    let start = Instant::now();
    let result = work.await;
    (start.elapsed(), result)
}
