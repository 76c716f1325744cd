//! The time of a turn's parts on this machine after a rest: a lone run rests while it waits for its model, and then
//! pays for cold caches. These figures do not include the bot, so the bot cannot improve them.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use super::figures::percentile;

/// Processes begun with and without a rest before each.
const TIMES: u32 = 10;

/// Measures the start and end of a process after different rests.
pub struct Spawns {
    busy: Duration,
    rested: Duration,
    rest: Duration,
}

impl Spawns {
    /// Begins processes, after a rest of so long each and without one.
    pub fn measure(rest: Duration) -> Result<Self> {
        Ok(Self { busy: median(Duration::ZERO)?, rested: median(rest)?, rest })
    }

    /// A line beside the figures of a lone run.
    pub fn line(&self) -> String {
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        format!(
            "This machine alone takes {:.1} ms for `true` in bash, one after another, and {:.1} ms after a rest of {} ms: a lone run's turns rest before each part.",
            ms(self.busy),
            ms(self.rested),
            self.rest.as_millis()
        )
    }
}

fn median(rest: Duration) -> Result<Duration> {
    let mut times = (0..TIMES).map(|_| one_after(rest)).collect::<Result<Vec<_>>>()?;
    Ok(percentile(&mut times, 0.5))
}

fn one_after(rest: Duration) -> Result<Duration> {
    thread::sleep(rest);
    let began = Instant::now();
    let status = Command::new("bash").args(["-c", "true"]).status()?;
    ensure!(status.success(), "`true` in bash ended with {status}");
    Ok(began.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_times_are_told_beside_the_rest() {
        let ms = Duration::from_millis;
        let line = Spawns { busy: ms(2), rested: ms(14), rest: ms(300) }.line();
        assert!(
            line.contains("2.0 ms for `true` in bash") && line.contains("14.0 ms after a rest of 300 ms")
        );
    }
}
