//! Ends processes that a killed `up` left running.
//!
//! A data directory's lock has a single owner, so a bot, a workerd or a code host that still runs
//! in the directory has none.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

use super::data_dir::DataDir;

/// Longest wait for them to leave.
const LIMIT: Duration = Duration::from_secs(10);
/// Time between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// Ends all such processes.
pub fn end(data: &DataDir) -> Result<()> {
    let began = Instant::now();
    loop {
        let found = working_in(data.path());
        if found.is_empty() {
            return Ok(());
        }
        ensure!(
            began.elapsed() < LIMIT,
            "{} is still used by processes {found:?}",
            data.path().display()
        );
        // Acknowledged data is on disk, so they can be killed.
        for pid in found {
            eprintln!("ending process {pid}, left behind by a killed `cargo xtask up`");
            if let Some(pid) = Pid::from_raw(pid) {
                // It may have exited already.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        thread::sleep(LOOK);
    }
}

/// Processes that were started on the directory, by their arguments.
fn working_in(data: &Path) -> Vec<i32> {
    let places = [
        data.join("bot"),
        data.join("state/workerd.capnp"),
        data.join("residents/workerd.capnp"),
        data.join("code-host"),
    ];
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let started = processes.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let arguments: Vec<_> = line
            .split(|byte| *byte == 0)
            .map(OsStr::from_bytes)
            .collect();
        let serves = arguments.contains(&OsStr::new("serve"));
        (serves
            && places
                .iter()
                .any(|place| arguments.contains(&place.as_os_str())))
        .then_some(pid)
    });
    started.collect()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn only_what_works_in_the_directory_is_ended() {
        let dir = tempfile::tempdir().unwrap();
        let data = DataDir::claim(Some(dir.path())).unwrap();
        let start = |folder: &str| {
            let mut shell = Command::new("sh");
            // A process whose arguments look like a bot's, and that ends with its input.
            shell
                .args(["-c", "read _", "ars", "serve", "--data-dir"])
                .arg(data.join(folder));
            shell.stdin(Stdio::piped()).spawn().unwrap()
        };
        let (mut left, mut other) = (start("bot"), start("elsewhere"));
        // A process that is starting has no arguments yet.
        let found =
            std::iter::repeat_with(|| working_in(data.path())).find(|found| !found.is_empty());
        assert_eq!(found.unwrap(), [i32::try_from(left.id()).unwrap()]);
        // Reaped by another thread, as the system does for orphans.
        let reaper = thread::spawn(move || left.wait().unwrap());
        end(&data).unwrap();
        assert!(!reaper.join().unwrap().success());
        assert!(other.try_wait().unwrap().is_none());
        drop(other.stdin.take());
        other.wait().unwrap();
    }
}
