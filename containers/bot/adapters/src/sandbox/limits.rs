//! Resource limits for a command, in every sandbox kind.

use std::io::ErrorKind;
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use tokio::time::sleep;

/// Largest file that a command may write.
const MAX_FILE_BYTES: u64 = 16 << 30;
/// Maximum open files in a command process.
const MAX_OPEN_FILES: u64 = 65_536;
/// Maximum processes and threads for the service's user, which the limit counts together. Root has
/// no such limit.
const MAX_USER_PROCESSES: u64 = 8_192;
/// Share of the machine's memory that a single command process may allocate, in quarters. Where a
/// run has a control group, its processes together may not allocate more.
const MAX_MEMORY_QUARTERS: u64 = 3;
/// Maximum processes and threads in a run, where it has a control group.
const MAX_RUN_PROCESSES: u64 = 1_024;
/// The adjustment that makes the kernel kill a command first when memory runs out.
const KILLED_FIRST: &str = "1000";
/// Looks at a program that is starting.
const START_LOOKS: u32 = 1_000;
/// Time between two such looks.
const START_LOOK: Duration = Duration::from_millis(1);

/// Limits for a run's processes together. They need a control group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// Maximum memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Maximum processes and threads.
    pub processes: Option<u64>,
}

impl Default for RunLimits {
    fn default() -> Self {
        Self {
            memory_bytes: max_memory_bytes(),
            processes: Some(MAX_RUN_PROCESSES),
        }
    }
}

/// Limits a program that was started and waits for the first input. A limit is never raised above
/// this process's own.
pub(crate) async fn limit(program: Pid) -> std::io::Result<()> {
    let limits = [
        (Resource::Core, Some(0)),
        (Resource::Fsize, Some(MAX_FILE_BYTES)),
        (Resource::Nofile, Some(MAX_OPEN_FILES)),
        (Resource::Nproc, Some(MAX_USER_PROCESSES)),
        (Resource::Data, max_memory_bytes()),
    ];
    for (resource, maximum) in limits {
        let Some(maximum) = maximum else { continue };
        let own = getrlimit(resource);
        let maximum = own.maximum.map_or(maximum, |own| own.min(maximum));
        let current = own.current.map_or(maximum, |own| own.min(maximum));
        prlimit(
            Some(program),
            resource,
            Rlimit {
                current: Some(current),
                maximum: Some(maximum),
            },
        )?;
    }
    kill_first(program).await;
    Ok(())
}

/// Makes the kernel kill the program before others. A kernel without the file has no such killer.
async fn kill_first(program: Pid) {
    let file = format!("/proc/{}/oom_score_adj", program.as_raw_nonzero());
    for _ in 0..START_LOOKS {
        match std::fs::write(&file, KILLED_FIRST) {
            // An undumpable process's child belongs to root until it has finished starting.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => sleep(START_LOOK).await,
            _ => return,
        }
    }
}

/// Returns how many bytes of this machine's memory a process, and a run, may allocate.
fn max_memory_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim()
        .strip_suffix(" kB")?
        .parse::<u64>()
        .ok()
        .map(|kib| (kib << 10) / 4 * MAX_MEMORY_QUARTERS)
}
