//! Kills processes by user, by the tag in their environment, or by folder.
//!
//! A process has no environment for a moment while it becomes another program, and can start
//! another and end while the process list is read, so that neither is seen. So each kill repeats
//! until two rounds in a row find nothing.

use std::{
    fs::{self, File},
    io::Read as _,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, getpid, kill_process};

/// The variable with a step's tag: `<runtime>/<user>/<number>`.
pub(crate) const TAG: &str = "ARS_STEP";
/// Pause before a round that follows a find, in which an `execve` can end.
const PAUSE: Duration = Duration::from_millis(1);
/// Rounds in a row that must find nothing.
const CLEAN_ROUNDS: usize = 2;
/// Time to kill what a command left behind. An `execve` waits for the disk, which can take seconds.
pub(crate) const LEFT_BEHIND_TIMEOUT: Duration = Duration::from_secs(10);
/// Time to kill the processes of a user or in a folder. A step kills twice within 2 s.
pub(crate) const KILL_TIMEOUT: Duration = Duration::from_millis(900);
/// Bytes at the start of an environment in which the tag is looked for.
const ENVIRONMENT_BYTES: usize = 128 << 10;

/// Kills the processes with a tag that begins with `prefix`, and returns their number. Looks at a
/// user's processes only, or at everyone's without a user. Processes that appear faster than they
/// are killed stay after the timeout.
pub(crate) fn kill_tagged(prefix: &str, uid: Option<u32>, timeout: Duration) -> u32 {
    let wanted = format!("{TAG}={prefix}");
    let mut buffer = vec![0; ENVIRONMENT_BYTES];
    kill_all(timeout, |process| {
        if uid.is_some_and(|uid| !process.is_by(uid)) {
            return Match::No;
        }
        // A single read: between two the process could become another program.
        let environment = File::open(process.path.join("environ"))
            .and_then(|mut file| file.read(&mut buffer))
            .map(|bytes| &buffer[..bytes]);
        let Ok(environment) = environment else {
            return Match::No;
        };
        if environment.is_empty() && !process.stat.has_no_variables() {
            return Match::Unclear;
        }
        let mut variables = environment.split(|byte| *byte == 0);
        variables
            .any(|entry| entry.starts_with(wanted.as_bytes()))
            .into()
    })
}

/// Kills the processes of a user other than this process's.
pub(crate) fn kill_uid(uid: u32) -> u32 {
    if uid == rustix::process::getuid().as_raw() {
        return 0;
    }
    kill_all(KILL_TIMEOUT, |process| process.is_by(uid).into())
}

/// Kills a user's processes in a working directory below a folder. `None` stands for this process's
/// user.
pub(crate) fn kill_in(folder: &Path, uid: Option<u32>) -> u32 {
    let uid = uid.unwrap_or_else(|| rustix::process::getuid().as_raw());
    kill_all(KILL_TIMEOUT, |process| {
        let is_wanted = process.is_by(uid)
            && fs::read_link(process.path.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder));
        is_wanted.into()
    })
}

/// Whether a process is to be killed.
enum Match {
    Yes,
    No,
    /// It starts a program, and shows in the next round.
    Unclear,
}

impl From<bool> for Match {
    fn from(is_wanted: bool) -> Self {
        if is_wanted { Self::Yes } else { Self::No }
    }
}

fn kill_all(timeout: Duration, mut is_wanted: impl FnMut(&Process) -> Match) -> u32 {
    let (mut killed, mut clean) = (0, 0);
    let start = Instant::now();
    while clean < CLEAN_ROUNDS && start.elapsed() < timeout {
        let mut is_clean = true;
        for process in processes() {
            match is_wanted(&process) {
                Match::No => continue,
                Match::Unclear => {}
                // It may have ended since.
                Match::Yes => killed += u32::from(kill_process(process.pid, Signal::KILL).is_ok()),
            }
            is_clean = false;
        }
        if is_clean {
            clean += 1;
        } else {
            clean = 0;
            thread::sleep(PAUSE);
        }
    }
    killed
}

/// A process that lived when it was listed.
struct Process {
    pid: Pid,
    /// The process's folder below `/proc`.
    path: PathBuf,
    stat: Stat,
}

impl Process {
    fn is_by(&self, uid: u32) -> bool {
        fs::metadata(&self.path).is_ok_and(|meta| meta.uid() == uid)
    }
}

/// Returns the living processes besides this process.
fn processes() -> impl Iterator<Item = Process> {
    let own = getpid();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(move |entry| {
        let number: i32 = entry.file_name().to_str()?.parse().ok()?;
        let pid = Pid::from_raw(number).filter(|pid| *pid != own)?;
        let path = entry.path();
        let stat = Stat::read(&path);
        (!stat.has_ended()).then_some(Process { pid, path, stat })
    })
}

/// What the kernel says about a process: the fields in `stat` after the program's name.
struct Stat(String);

impl Stat {
    /// Index of the memory size, which is 0 in a thread of the kernel.
    const MEMORY: usize = 20;
    /// Index of the variables' address, which is 0 while the process starts a program.
    const VARIABLES: usize = 47;

    fn read(process: &Path) -> Self {
        let stat = fs::read(process.join("stat")).unwrap_or_default();
        let stat = String::from_utf8_lossy(&stat);
        let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
        Self(fields.to_owned())
    }

    /// A process that ended stays in the list until the parent reads its exit code.
    fn has_ended(&self) -> bool {
        ["", "Z", "X"].contains(&self.field(0))
    }

    /// Returns whether an empty environment is the whole one.
    fn has_no_variables(&self) -> bool {
        let from = self.field(Self::VARIABLES);
        let to = self.field(Self::VARIABLES + 1);
        self.field(Self::MEMORY) == "0" || (from == to && from != "0")
    }

    fn field(&self, index: usize) -> &str {
        self.0.split_whitespace().nth(index).unwrap_or_default()
    }
}
