//! Kills processes by user, by the tag in their environment, or by folder.
//!
//! A process has no environment for a moment while it becomes another program, and can start
//! another that is not in the list, and end before it is looked at. So each kill repeats until a
//! round finds nothing and nothing unclear.

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
    io::Errno,
    process::{Pid, Signal, getpid, kill_process},
};

/// The variable with a step's tag: `<runtime>/<user>/<number>`.
pub(crate) const TAG: &str = "ARS_STEP";
/// Pause between rounds, in which an `execve` can end.
const PAUSE: Duration = Duration::from_millis(1);
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
        if let Some(uid) = uid
            && process.uid()? != uid
        {
            return Ok(Match::No);
        }
        // A single read: between two the process could become another program.
        let bytes = File::open(process.path.join("environ"))?.read(&mut buffer)?;
        if bytes == 0 && !process.stat.has_no_variables() {
            return Ok(Match::Unclear);
        }
        let mut variables = buffer[..bytes].split(|byte| *byte == 0);
        let is_tagged = variables.any(|entry| entry.starts_with(wanted.as_bytes()));
        Ok(is_tagged.into())
    })
}

/// Kills the processes of a user other than this process's.
pub(crate) fn kill_uid(uid: u32) -> u32 {
    if uid == rustix::process::getuid().as_raw() {
        return 0;
    }
    kill_all(KILL_TIMEOUT, |process| Ok((process.uid()? == uid).into()))
}

/// Kills a user's processes in a working directory below a folder. `None` stands for this process's
/// user.
pub(crate) fn kill_in(folder: &Path, uid: Option<u32>) -> u32 {
    let uid = uid.unwrap_or_else(|| rustix::process::getuid().as_raw());
    kill_all(KILL_TIMEOUT, |process| {
        let is_wanted =
            process.uid()? == uid && fs::read_link(process.path.join("cwd"))?.starts_with(folder);
        Ok(is_wanted.into())
    })
}

/// Whether a process is to be killed.
enum Match {
    Yes,
    No,
    /// It starts a program or just ended, and shows in the next round.
    Unclear,
}

impl From<bool> for Match {
    fn from(is_wanted: bool) -> Self {
        if is_wanted { Self::Yes } else { Self::No }
    }
}

fn kill_all(timeout: Duration, mut is_wanted: impl FnMut(&Process) -> io::Result<Match>) -> u32 {
    let (mut killed, start) = (0, Instant::now());
    let mut ended = HashSet::new();
    loop {
        let mut is_clean = true;
        for process in processes() {
            if process.stat.has_ended() {
                // An ended process stays in the list until its parent reads the exit code.
                is_clean &= !ended.insert(process.pid);
                continue;
            }
            match is_wanted(&process).unwrap_or_else(|error| failed(&error)) {
                Match::No => continue,
                Match::Unclear => {}
                // It may have ended since.
                Match::Yes => killed += u32::from(kill_process(process.pid, Signal::KILL).is_ok()),
            }
            is_clean = false;
        }
        if is_clean || start.elapsed() >= timeout {
            return killed;
        }
        thread::sleep(PAUSE);
    }
}

/// Decides about a process that cannot be looked at: it ended, or is protected.
fn failed(error: &io::Error) -> Match {
    let has_ended = error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error() == Some(Errno::SRCH.raw_os_error());
    if has_ended { Match::Unclear } else { Match::No }
}

/// A listed process.
struct Process {
    pid: Pid,
    /// The process's folder below `/proc`.
    path: PathBuf,
    stat: Stat,
}

impl Process {
    fn uid(&self) -> io::Result<u32> {
        Ok(fs::metadata(&self.path)?.uid())
    }
}

/// Returns the processes besides this process and the kernel's, newest first: they may end soonest.
fn processes() -> impl Iterator<Item = Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut numbers: Vec<i32> = numbers.collect();
    numbers.sort_unstable_by_key(|number| Reverse(*number));
    let own = getpid();
    numbers.into_iter().filter_map(move |number| {
        let pid = Pid::from_raw(number).filter(|pid| *pid != own)?;
        let path = Path::new("/proc").join(number.to_string());
        let stat = Stat::read(&path);
        (!stat.is_of_kernel()).then_some(Process { pid, path, stat })
    })
}

/// What the kernel says about a process: the fields in `stat` after the program's name.
struct Stat(String);

impl Stat {
    /// Index of the flags.
    const FLAGS: usize = 6;
    /// The flag of a thread of the kernel.
    const OF_KERNEL: u32 = 0x0020_0000;
    /// Index of the memory size, which is 0 in a process that is about to end.
    const MEMORY: usize = 20;
    /// Index of the variables' address, which is 0 while the process starts a program.
    const VARIABLES: usize = 47;

    fn read(process: &Path) -> Self {
        let stat = fs::read(process.join("stat")).unwrap_or_default();
        let stat = String::from_utf8_lossy(&stat);
        let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
        Self(fields.to_owned())
    }

    fn is_of_kernel(&self) -> bool {
        let flags = self.field(Self::FLAGS).parse::<u32>();
        flags.is_ok_and(|flags| flags & Self::OF_KERNEL != 0)
    }

    fn has_ended(&self) -> bool {
        ["", "Z", "X"].contains(&self.field(0)) || self.field(Self::MEMORY) == "0"
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
