//! What a process has used, from `/proc`: nothing is added to the process that is measured.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

/// The kernel's unit of time in `/proc/<pid>/stat`, on every Linux the project runs on.
const TICK: Duration = Duration::from_millis(10);

/// What a process has used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU of its own threads, user and system, to the nanosecond (`task/*/schedstat`).
    pub own: Duration,
    /// CPU of the children it has waited for, to the tick (`stat`).
    pub children: Duration,
}

impl Usage {
    /// Reads it. Threads that have ended are not counted: the bot's outlive a measurement.
    pub fn of(pid: u32) -> Result<Self> {
        let mut own = Duration::ZERO;
        for task in fs::read_dir(format!("/proc/{pid}/task"))? {
            // A thread may end between the listing and the reading.
            let text = fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
            own += on_cpu(&text).unwrap_or_default();
        }
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        Ok(Self { own, children: waited_for(&stat).context("/proc/<pid>/stat")? })
    }

    /// What was used since.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            own: self.own.saturating_sub(earlier.own),
            children: self.children.saturating_sub(earlier.children),
        }
    }
}

/// Most memory the process has held, in kB (`VmHWM`).
pub fn peak_kb(pid: u32) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).context("VmHWM")
}

fn on_cpu(schedstat: &str) -> Option<Duration> {
    Some(Duration::from_nanos(schedstat.split_whitespace().next()?.parse().ok()?))
}

fn waited_for(stat: &str) -> Option<Duration> {
    // cutime and cstime are fields 16 and 17; the name in field 2 may hold blanks.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(13);
    let ticks: u32 = fields.next()?.parse::<u32>().ok()? + fields.next()?.parse::<u32>().ok()?;
    Some(TICK * ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_figures_are_read() {
        assert_eq!(on_cpu("1500000 20 3\n"), Some(Duration::from_micros(1500)));
        let stat = "7 (a b) S 1 7 7 0 -1 0 0 0 0 0 11 12 13 14 20 0";
        assert_eq!(waited_for(stat), Some(TICK * 27));
    }

    #[test]
    fn work_shows_up_in_the_usage() {
        let pid = std::process::id();
        let before = Usage::of(pid).unwrap();
        let mut sum = 0u64;
        while Usage::of(pid).unwrap().since(before).own < Duration::from_millis(5) {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(peak_kb(pid).unwrap() > 1000);
    }
}
