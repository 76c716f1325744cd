//! A process's resource usage, from `/proc`, which does not disturb the process.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

/// The kernel's time unit in `/proc/<pid>/stat`, on every Linux the project runs on.
const TICK: Duration = Duration::from_millis(10);

/// Resources used so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU used by the process's threads, user and system, in nanoseconds (`task/*/schedstat`).
    pub own: Duration,
    /// How long the process's own threads were ready to run and had to wait for a core.
    pub delayed: Duration,
    /// CPU used by the children it has waited for, to the tick (`stat`).
    pub children: Duration,
    /// CPU used by the living processes below it, and by those that they have waited for, to the
    /// tick.
    pub below: Duration,
}

impl Usage {
    /// Reads it. Threads that have ended are not counted: the bot's outlive a measurement.
    pub fn read(pid: u32) -> Result<Self> {
        let (mut own, mut delayed) = (Duration::ZERO, Duration::ZERO);
        for task in fs::read_dir(format!("/proc/{pid}/task"))? {
            // A thread may end between the listing and the reading.
            let text = fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
            if let Some((ran, waited)) = scheduled(&text) {
                own += ran;
                delayed += waited;
            }
        }
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let children = Stat::read(&stat).context("/proc/<pid>/stat")?.waited_for;
        Ok(Self {
            own,
            delayed,
            children,
            below: below(pid)?,
        })
    }

    /// Returns the usage since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            own: self.own.saturating_sub(earlier.own),
            delayed: self.delayed.saturating_sub(earlier.delayed),
            children: self.children.saturating_sub(earlier.children),
            below: self.below.saturating_sub(earlier.below),
        }
    }
}

/// Most memory the process has held, in kB.
pub fn peak_kb(pid: u32) -> Result<u64> {
    status_kb(pid, "VmHWM:")
}

/// Memory the process holds, in kB.
pub fn resident_kb(pid: u32) -> Result<u64> {
    status_kb(pid, "VmRSS:")
}

fn status_kb(pid: u32, field: &'static str) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|rest| rest.split_whitespace().next()?.parse().ok())
        .context(field)
}

/// How long a thread ran, and how long it was ready and did not.
fn scheduled(schedstat: &str) -> Option<(Duration, Duration)> {
    let mut nanos = schedstat
        .split_whitespace()
        .map_while(|field| field.parse().ok());
    Some((
        Duration::from_nanos(nanos.next()?),
        Duration::from_nanos(nanos.next()?),
    ))
}

/// Fields in `/proc/<pid>/stat`.
struct Stat {
    parent: u32,
    own: Duration,
    waited_for: Duration,
}

impl Stat {
    fn read(stat: &str) -> Option<Self> {
        // The name in field 2 may hold blanks. utime to cstime are fields 14 to 17.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |field: usize| fields.get(field)?.parse::<u32>().ok();
        let time = |field| Some(TICK * (number(field)? + number(field + 1)?));
        Some(Self {
            parent: number(1)?,
            own: time(11)?,
            waited_for: time(13)?,
        })
    }
}

/// Returns the CPU used by the processes below a process. A process that ends meanwhile is left
/// out.
fn below(root: u32) -> Result<Duration> {
    let mut all = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        all.extend(Stat::read(&stat).map(|stat| (pid, stat)));
    }
    let (mut sum, mut parents) = (Duration::ZERO, vec![root]);
    while let Some(parent) = parents.pop() {
        for (pid, stat) in all.iter().filter(|(_, stat)| stat.parent == parent) {
            sum += stat.own + stat.waited_for;
            parents.push(*pid);
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_figures_are_read() {
        let micros = Duration::from_micros;
        assert_eq!(
            scheduled("1500000 20000 3\n"),
            Some((micros(1500), micros(20)))
        );
        let stat = "7 (a b) S 1 7 7 0 -1 0 0 0 0 0 11 12 13 14 20 0";
        let stat = Stat::read(stat).unwrap();
        assert_eq!(
            (stat.parent, stat.own, stat.waited_for),
            (1, TICK * 23, TICK * 27)
        );
    }

    #[test]
    fn work_shows_up_in_the_usage() {
        let pid = std::process::id();
        let before = Usage::read(pid).unwrap();
        let mut sum = 0u64;
        while Usage::read(pid).unwrap().since(before).own < Duration::from_millis(5) {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(peak_kb(pid).unwrap() > 1000);
        let mut busy = std::process::Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn()
            .unwrap();
        while Usage::read(pid).unwrap().since(before).below < TICK {
            std::thread::yield_now();
        }
        busy.kill().unwrap();
        busy.wait().unwrap();
    }
}
