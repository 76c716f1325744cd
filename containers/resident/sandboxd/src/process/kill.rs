//! Kills processes by user, by the tag in their environment, or by folder.
//!
//! A process can start another while the process list is read, so each kill repeats until nothing
//! is found.

use std::{
    fs,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
};

use rustix::process::{Pid, Signal, getpid, kill_process};

/// The variable with a step's tag: `<runtime>/<user>/<number>`.
pub(crate) const TAG: &str = "ARS_STEP";
/// Rounds after which processes that appear faster than they are killed stay.
const ROUNDS: usize = 200;

/// Kills the processes with a tag that begins with `prefix`, and returns their number.
pub(crate) fn kill_tagged(prefix: &str) -> u32 {
    let wanted = format!("{TAG}={prefix}");
    kill_all(|process| {
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        environment
            .split(|byte| *byte == 0)
            .any(|entry| entry.starts_with(wanted.as_bytes()))
    })
}

/// Kills the processes of a user other than this process's.
pub(crate) fn kill_uid(uid: u32) -> u32 {
    if uid == rustix::process::getuid().as_raw() {
        return 0;
    }
    kill_all(|process| fs::metadata(process).is_ok_and(|meta| meta.uid() == uid))
}

/// Kills a user's processes in a working directory below a folder. `None` stands for this process's
/// user.
pub(crate) fn kill_in(folder: &Path, uid: Option<u32>) -> u32 {
    let uid = uid.unwrap_or_else(|| rustix::process::getuid().as_raw());
    kill_all(|process| {
        fs::metadata(process).is_ok_and(|meta| meta.uid() == uid)
            && fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder))
    })
}

fn kill_all(is_wanted: impl Fn(&Path) -> bool) -> u32 {
    let mut killed = 0;
    for _ in 0..ROUNDS {
        let found: Vec<Pid> = processes()
            .filter(|(_, path)| is_wanted(path))
            .map(|(pid, _)| pid)
            .collect();
        if found.is_empty() {
            break;
        }
        for pid in found {
            // It may have ended since.
            killed += u32::from(kill_process(pid, Signal::KILL).is_ok());
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    killed
}

/// Returns the living processes besides this process.
fn processes() -> impl Iterator<Item = (Pid, PathBuf)> {
    let own = getpid();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(move |entry| {
        let number: i32 = entry.file_name().to_str()?.parse().ok()?;
        let pid = Pid::from_raw(number).filter(|pid| *pid != own)?;
        let path = entry.path();
        (!is_zombie(&path)).then_some((pid, path))
    })
}

/// A process that ended stays in the list until the parent reads its exit code.
fn is_zombie(process: &Path) -> bool {
    let stat = fs::read(process.join("stat")).unwrap_or_default();
    let after_name = stat
        .iter()
        .rposition(|byte| *byte == b')')
        .map_or(0, |at| at + 2);
    let state = std::ffi::OsStr::from_bytes(stat.get(after_name..=after_name).unwrap_or_default());
    ["Z", "X", ""].iter().any(|ended| state == *ended)
}
