//! Kills processes by user, by the tag in their environment, or by folder.
//!
//! A process has no environment for a moment while it becomes another program, and can start
//! another that is not in the list, and end before it is looked at. So each kill repeats until a
//! round finds nothing and nothing unclear. Other users' processes are not looked at, so that they
//! do not prolong it.

use std::{
    cmp::Reverse,
    collections::HashSet,
    fs::{self, File},
    io::{self, Read as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    fs::{Gid, Uid},
    io::Errno,
    process::{Pid, Signal, getpid, getuid, kill_process},
    thread::{CapabilitySet, capabilities, set_thread_res_gid, set_thread_res_uid},
};

/// The variable with a step's tag: `<runtime>/<user>/<number>`.
pub(crate) const TAG: &str = "ARS_STEP";
/// Pause between rounds, in which an `execve` can end.
const PAUSE: Duration = Duration::from_millis(1);
/// Time to kill what a command left behind. An `execve` waits for the disk, which can take seconds.
pub(crate) const LEFT_BEHIND_TIMEOUT: Duration = Duration::from_secs(10);
/// Time to kill the processes of a user or in a folder. A step for that has 2 s.
pub(crate) const KILL_TIMEOUT: Duration = Duration::from_millis(1_500);
/// Bytes at the start of an environment in which the tag is looked for.
const ENVIRONMENT_BYTES: usize = 128 << 10;

/// How a kill ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Killed {
    /// How many processes were killed.
    pub(crate) processes: u32,
    /// Whether none is left. Processes can appear faster than they are killed.
    pub(crate) is_complete: bool,
}

/// Kills a user's processes with a tag that begins with `prefix`.
pub(crate) fn kill_tagged(prefix: &str, uid: u32, timeout: Duration) -> Killed {
    let wanted = format!("{TAG}={prefix}");
    let mut buffer = vec![0; ENVIRONMENT_BYTES];
    let is_tagged = |process: &Process| {
        process.read(|folder| {
            // A single read: between two the process could become another program.
            let bytes = File::open(folder.join("environ"))?.read(&mut buffer)?;
            if bytes == 0 && !process.stat.has_no_variables() {
                return Ok(Match::Unclear);
            }
            let mut variables = buffer[..bytes].split(|byte| *byte == 0);
            let is_tagged = variables.any(|entry| entry.starts_with(wanted.as_bytes()));
            Ok(is_tagged.into())
        })
    };
    as_user(uid, || kill_all(uid, timeout, is_tagged))
}

/// Kills all processes of a user, or those with a tag that begins with `prefix` if the user is this
/// process's, too.
pub(crate) fn kill_user(uid: u32, prefix: &str) -> Killed {
    if uid == getuid().as_raw() {
        return kill_tagged(prefix, uid, KILL_TIMEOUT);
    }
    kill_all(uid, KILL_TIMEOUT, |_| Ok(Match::Yes))
}

/// Kills a user's processes in a working directory below a folder.
pub(crate) fn kill_in(folder: &Path, uid: u32) -> Killed {
    let is_inside = |process: &Process| {
        process.read(|path| Ok(fs::read_link(path.join("cwd"))?.starts_with(folder).into()))
    };
    as_user(uid, || kill_all(uid, KILL_TIMEOUT, is_inside))
}

/// Runs in a thread that may look at a user's processes. In a container root often lacks the
/// capability to trace them. The thread's real user stays, so that the user cannot signal the thread.
fn as_user<T: Send>(uid: u32, work: impl FnOnce() -> T + Send) -> T {
    let may_trace =
        capabilities(None).is_ok_and(|own| own.effective.contains(CapabilitySet::SYS_PTRACE));
    if may_trace || uid == getuid().as_raw() {
        return work();
    }
    let in_thread = || {
        let (user, group) = (Uid::from_raw(uid), Gid::from_raw(uid));
        let changed = set_thread_res_gid(None, group, None)
            .and_then(|()| set_thread_res_uid(None, user, None));
        if let Err(error) = changed {
            tracing::warn!(%error, uid, "a user's processes are looked at as root");
        }
        work()
    };
    thread::scope(|scope| match scope.spawn(in_thread).join() {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// What becomes of a process.
enum Match {
    Yes,
    No,
    /// It starts a program, or ends, and shows in the next round.
    Unclear,
}

impl From<bool> for Match {
    fn from(is_wanted: bool) -> Self {
        if is_wanted { Self::Yes } else { Self::No }
    }
}

fn kill_all(
    uid: u32,
    timeout: Duration,
    mut is_wanted: impl FnMut(&Process) -> io::Result<Match>,
) -> Killed {
    let (mut processes, start) = (0, Instant::now());
    let mut ended = HashSet::new();
    loop {
        let mut is_complete = true;
        for pid in listed() {
            let process = match Process::look_at(pid) {
                Ok(process) if process.uid != uid || process.stat.is_of_kernel() => continue,
                Ok(process) if !process.stat.has_ended() => process,
                // It may have started another. An ended process can stay in the list.
                Ok(_) => {
                    is_complete &= !ended.insert(pid);
                    continue;
                }
                Err(error) => {
                    is_complete &= !(has_ended(&error) && ended.insert(pid));
                    continue;
                }
            };
            match is_wanted(&process) {
                Ok(Match::Yes) => {
                    // It may have ended since.
                    processes += u32::from(kill_process(pid, Signal::KILL).is_ok());
                }
                Ok(Match::Unclear) => {}
                Err(error) if has_ended(&error) => {}
                Ok(Match::No) | Err(_) => continue,
            }
            is_complete = false;
        }
        if is_complete || start.elapsed() >= timeout {
            return Killed {
                processes,
                is_complete,
            };
        }
        thread::sleep(PAUSE);
    }
}

/// Returns the processes besides this process, newest first: they may end soonest.
fn listed() -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let own = getpid();
    let pids = numbers.filter_map(Pid::from_raw);
    let mut pids: Vec<Pid> = pids.filter(|pid| *pid != own).collect();
    pids.sort_unstable_by_key(|pid| Reverse(pid.as_raw_nonzero()));
    pids
}

/// Returns whether a process could not be looked at because it ended.
fn has_ended(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
}

/// A listed process.
struct Process {
    /// The process's folder below `/proc`.
    path: PathBuf,
    uid: u32,
    stat: Stat,
}

impl Process {
    fn look_at(pid: Pid) -> io::Result<Self> {
        let path = Path::new("/proc").join(pid.as_raw_nonzero().to_string());
        Ok(Self {
            uid: fs::metadata(&path)?.uid(),
            stat: Stat::read(&path)?,
            path,
        })
    }

    /// Reads in the process's folder, or in that of another thread once the first thread ended.
    fn read<T>(&self, mut read: impl FnMut(&Path) -> io::Result<T>) -> io::Result<T> {
        if !self.stat.is_ending() {
            return read(&self.path);
        }
        let threads = fs::read_dir(self.path.join("task"))?.flatten();
        let read = threads.map(|thread| read(&thread.path()));
        let mut read = read.skip_while(Result::is_err);
        read.next().unwrap_or_else(|| Err(Errno::SRCH.into()))
    }
}

/// What the kernel says about a process: the fields in `stat` after the program's name.
struct Stat(String);

impl Stat {
    /// Index of the flags.
    const FLAGS: usize = 6;
    /// The flag of a thread of the kernel.
    const OF_KERNEL: u32 = 0x0020_0000;
    /// Index of the number of threads.
    const THREADS: usize = 17;
    /// Index of the memory size, which is 0 once the first thread ends.
    const MEMORY: usize = 20;
    /// Index of the variables' address, which is 0 while the process starts a program.
    const VARIABLES: usize = 47;

    fn read(process: &Path) -> io::Result<Self> {
        let stat = fs::read(process.join("stat"))?;
        let stat = String::from_utf8_lossy(&stat);
        let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
        Ok(Self(fields.to_owned()))
    }

    fn is_of_kernel(&self) -> bool {
        let flags = self.field(Self::FLAGS).parse::<u32>();
        flags.is_ok_and(|flags| flags & Self::OF_KERNEL != 0)
    }

    /// Returns whether the first thread ended or is about to.
    fn is_ending(&self) -> bool {
        ["Z", "X"].contains(&self.field(0)) || self.field(Self::MEMORY) == "0"
    }

    /// Returns whether no thread lives.
    fn has_ended(&self) -> bool {
        self.is_ending() && ["0", "1"].contains(&self.field(Self::THREADS))
    }

    /// Returns whether an empty environment is the whole one.
    fn has_no_variables(&self) -> bool {
        let from = self.field(Self::VARIABLES);
        from == self.field(Self::VARIABLES + 1) && from != "0"
    }

    fn field(&self, index: usize) -> &str {
        self.0.split_whitespace().nth(index).unwrap_or_default()
    }
}
