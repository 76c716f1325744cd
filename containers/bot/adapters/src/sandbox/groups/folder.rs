//! A group's folders and the files in them.

use std::{
    collections::HashSet,
    fmt, fs, io,
    io::Write as _,
    path::{Path, PathBuf},
};

use rustix::{
    io::Errno,
    process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal},
};

use crate::sandbox::limits::RunLimits;

/// Passes over the members when a group is killed. Two suffice, because it cannot grow meanwhile.
const KILL_PASSES: u32 = 100;

/// Bytes below the limit from which a group counts as full: no more than the kernel allocates at
/// once.
const MAX_ALLOCATION: u64 = 1 << 20;

/// Lists the threads in a version 1 group.
const THREADS: &str = "tasks";
/// Stands for the thread that writes it.
/// Any other number makes the kernel wait until every processor has passed a quiet point, which takes milliseconds.
const THIS_THREAD: &[u8] = b"0";

/// Where groups are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GroupPlace {
    /// Below this group, which passes the controllers on.
    V2(PathBuf),
    /// Below these groups, in each hierarchy.
    V1 { memory: PathBuf, pids: PathBuf },
}

/// Folders that make up a group.
#[derive(Debug, Clone)]
pub(super) struct Folders {
    is_v2: bool,
    memory: PathBuf,
    pids: PathBuf,
}

/// Moves a thread into a group in a single hierarchy and back.
#[derive(Debug)]
pub(super) struct Door {
    inside: fs::File,
    outside: fs::File,
}

impl Door {
    /// Moves this thread into the group.
    pub(super) fn enter(&self) -> io::Result<()> {
        (&self.inside).write_all(THIS_THREAD)
    }

    /// Moves this thread back.
    pub(super) fn leave(&self) -> io::Result<()> {
        (&self.outside).write_all(THIS_THREAD)
    }
}

/// A group's event counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counters {
    /// Processes that the kernel killed because memory ran out.
    pub(super) kills: u64,
    /// Those, or more, that the group's limit caused.
    pub(super) memory_hits: u64,
    /// Refused process and thread starts.
    pub(super) refused: u64,
}

impl Counters {
    /// Returns what was counted since.
    pub(super) fn since(self, before: Self) -> Self {
        Self {
            kills: self.kills.saturating_sub(before.kills),
            memory_hits: self.memory_hits.saturating_sub(before.memory_hits),
            refused: self.refused.saturating_sub(before.refused),
        }
    }
}

impl GroupPlace {
    /// Returns the groups in which groups are made.
    pub(super) fn parents(&self) -> Vec<&Path> {
        match self {
            Self::V2(parent) => vec![parent],
            Self::V1 { memory, pids } => vec![memory, pids],
        }
    }

    /// Returns the folders for a group.
    pub(super) fn folders(&self, name: &str) -> Folders {
        let (is_v2, memory, pids) = match self {
            Self::V2(parent) => (true, parent, parent),
            Self::V1 { memory, pids } => (false, memory, pids),
        };
        Folders {
            is_v2,
            memory: memory.join(name),
            pids: pids.join(name),
        }
    }
}

impl Folders {
    fn all(&self) -> impl Iterator<Item = &Path> {
        let second = (!self.is_v2).then_some(&*self.pids);
        [&*self.memory].into_iter().chain(second)
    }

    /// Makes the group with these limits.
    pub(super) fn make(&self, limits: RunLimits) -> io::Result<()> {
        for folder in self.all() {
            fs::create_dir(folder).map_err(|error| named(folder, &error))?;
        }
        if let Some(max) = limits.processes {
            write(&self.pids, "pids.max", &max.to_string())?;
        }
        let Some(bytes) = limits.memory_bytes else {
            return Ok(());
        };
        let bytes = bytes.to_string();
        if self.is_v2 {
            write(&self.memory, "memory.max", &bytes)?;
            write(&self.memory, "memory.oom.group", "1")?;
            // A kernel without swap does not have the file.
            let _ = write(&self.memory, "memory.swap.max", "0");
        } else {
            write(&self.memory, "memory.limit_in_bytes", &bytes)?;
            // Memory and swap together. A kernel that does not count swap does not have the file.
            let _ = write(&self.memory, "memory.memsw.limit_in_bytes", &bytes);
        }
        Ok(())
    }

    /// Makes a process a member, with all that it starts from now on.
    pub(super) fn add(&self, pid: Pid) -> io::Result<()> {
        self.all()
            .try_for_each(|folder| write(folder, "cgroup.procs", &pid.as_raw_nonzero().to_string()))
    }

    /// Opens a thread's way into the group and back to the surrounding group. `None` if threads do
    /// not move alone, as in version 2, or may not move back.
    pub(super) fn doors(&self) -> Option<Vec<Door>> {
        if self.is_v2 {
            return None;
        }
        let open = |folder: &Path| {
            fs::OpenOptions::new()
                .write(true)
                .open(folder.join(THREADS))
                .ok()
        };
        self.all()
            .map(|folder| {
                Some(Door {
                    inside: open(folder)?,
                    outside: open(folder.parent()?)?,
                })
            })
            .collect()
    }

    /// Reads the counters. A counter that the kernel does not have stays 0.
    pub(super) fn counters(&self) -> Counters {
        let refused = value(&self.pids, "pids.events", "max");
        if self.is_v2 {
            let of = |key| value(&self.memory, "memory.events", key);
            return Counters {
                kills: of("oom_kill"),
                memory_hits: of("oom"),
                refused,
            };
        }
        let kills = value(&self.memory, "memory.oom_control", "oom_kill");
        // Recent kernels do not count in `memory.failcnt`.
        let is_full = || {
            let of = |file| number(&self.memory, file);
            of("memory.max_usage_in_bytes") + MAX_ALLOCATION >= of("memory.limit_in_bytes")
        };
        Counters {
            kills,
            memory_hits: if kills > 0 && is_full() { kills } else { 0 },
            refused,
        }
    }

    /// Returns how many processes and threads count for the limit.
    /// Those that ended and were not reaped are among them.
    pub(super) fn charged(&self) -> u64 {
        number(&self.pids, "pids.current")
    }

    /// Kills every member. Returns whether no new member can start, which `reopen` ends.
    pub(super) fn kill(&self) -> bool {
        let mut killed: HashSet<Pid> = HashSet::new();
        let new = |killed: &HashSet<Pid>| -> Vec<Pid> {
            self.members()
                .into_iter()
                .filter(|pid| !killed.contains(pid))
                .collect()
        };
        let mut members = new(&killed);
        // Linux 5.14 kills a version 2 group in a single step.
        if members.is_empty() || (self.is_v2 && write(&self.pids, "cgroup.kill", "1").is_ok()) {
            return false;
        }
        // A group that may not grow ends with the members that are listed now.
        let is_closed = write(&self.pids, "pids.max", "0").is_ok();
        for _ in 0..KILL_PASSES {
            // A shell would go on to the next command if its child ended first.
            for signal in [Signal::STOP, Signal::KILL] {
                members.iter().for_each(|pid| self.send(*pid, signal));
            }
            killed.extend(members);
            members = new(&killed);
            if members.is_empty() {
                break;
            }
        }
        is_closed
    }

    /// Lets members start again after `kill`, up to the configured limit. The value in the file is
    /// not kept, because it may come from another kill.
    pub(super) fn reopen(&self, limits: RunLimits) {
        let max = limits
            .processes
            .map_or_else(|| "max".to_owned(), |max| max.to_string());
        if let Err(error) = write(&self.pids, "pids.max", &max) {
            tracing::warn!(%error, "a control group stays closed");
        }
    }

    /// Sends a signal to a process if it is still a member.
    fn send(&self, pid: Pid, signal: Signal) {
        // The id may belong to another process by now. The descriptor stays with the process that
        // is checked.
        let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else {
            return;
        };
        let groups = fs::read_to_string(format!("/proc/{}/cgroup", pid.as_raw_nonzero()))
            .unwrap_or_default();
        let name = self.pids.file_name().unwrap_or_default();
        let is_member = groups
            .lines()
            .any(|line| Path::new(line).file_name() == Some(name));
        if is_member {
            let _ = pidfd_send_signal(process, signal);
        }
    }

    /// Returns the processes in the group. This process is never among them, though one of its
    /// threads may be in the group.
    pub(super) fn members(&self) -> Vec<Pid> {
        let text = fs::read_to_string(self.pids.join("cgroup.procs")).unwrap_or_default();
        let listed = text
            .lines()
            .filter_map(|line| Pid::from_raw(line.parse().ok()?));
        listed.filter(|pid| *pid != getpid()).collect()
    }

    /// Kills the members and removes the folders. Returns whether none is left.
    /// The members need a moment to end, so the first attempt may leave them.
    pub(super) fn is_removed(&self) -> bool {
        let _ = self.kill();
        let is_gone = |folder: &Path| match fs::remove_dir(folder) {
            Ok(()) => true,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        // Not `all`, which would stop at the first.
        self.all().filter(|folder| !is_gone(folder)).count() == 0
    }
}

impl fmt::Display for Folders {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pids.display().fmt(out)
    }
}

#[cfg(test)]
impl Folders {
    /// Returns whether any part of the group exists.
    pub(super) fn exists(&self) -> bool {
        self.all().any(Path::exists)
    }

    /// Returns the files with the limits.
    pub(super) fn limits(&self) -> [PathBuf; 2] {
        let memory = if self.is_v2 {
            "memory.max"
        } else {
            "memory.limit_in_bytes"
        };
        [self.memory.join(memory), self.pids.join("pids.max")]
    }
}

/// Writes to a group file. It is never created.
pub(super) fn write(folder: &Path, file: &str, text: &str) -> io::Result<()> {
    let path = folder.join(file);
    let mut opened = fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .map_err(|error| named(&path, &error))?;
    opened
        .write_all(text.as_bytes())
        .map_err(|error| named(&path, &error))
}

/// Returns whether an error means that the group has members and so passes no controllers on.
pub(super) fn is_busy(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ResourceBusy
        || error.raw_os_error() == Some(Errno::BUSY.raw_os_error())
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Returns the number in a file.
fn number(folder: &Path, file: &str) -> u64 {
    fs::read_to_string(folder.join(file))
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or_default()
}

/// Returns a key's value from a file with a key and a value on each line.
fn value(folder: &Path, file: &str, key: &str) -> u64 {
    let text = fs::read_to_string(folder.join(file)).unwrap_or_default();
    let values = text.lines().filter_map(|line| line.split_once(' '));
    values
        .filter(|(name, _)| *name == key)
        .find_map(|(_, value)| value.trim().parse().ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: RunLimits = RunLimits {
        memory_bytes: None,
        processes: Some(32),
    };

    /// A kill that begins during another kill reads the closed limit.
    #[test]
    fn group_reopens_with_its_configured_limit() {
        let parent = tempfile::tempdir().unwrap();
        let place = GroupPlace::V1 {
            memory: parent.path().join("memory"),
            pids: parent.path().join("pids"),
        };
        let folders = place.folders("group");
        fs::create_dir_all(&folders.pids).unwrap();
        // The parent is listed, but its groups do not have the name, so it is spared.
        let listed = std::os::unix::process::parent_id().to_string();
        fs::write(folders.pids.join("cgroup.procs"), listed).unwrap();
        for (limits, expected) in [
            (LIMITS, "32"),
            (
                RunLimits {
                    processes: None,
                    ..LIMITS
                },
                "max",
            ),
        ] {
            fs::write(folders.pids.join("pids.max"), "0").unwrap();
            assert!(folders.kill());
            assert_eq!(
                fs::read_to_string(folders.pids.join("pids.max")).unwrap(),
                "0"
            );
            folders.reopen(limits);
            assert_eq!(
                fs::read_to_string(folders.pids.join("pids.max")).unwrap(),
                expected
            );
        }
    }
}
