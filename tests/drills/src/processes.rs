//! Processes as the system shows them.

use std::{collections::BTreeSet, path::PathBuf};

/// A process at a moment.
#[derive(Debug)]
pub struct Process {
    /// The process id.
    pub pid: u32,
    /// The process's arguments.
    pub arguments: String,
    /// The process's environment variables.
    pub environment: String,
}

/// Returns a process's running descendants.
pub fn below(root: u32) -> Vec<Process> {
    let parents: Vec<(u32, u32)> = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, parent(pid)?)))
        .collect();
    let mut found = BTreeSet::from([root]);
    loop {
        let more: Vec<_> = parents
            .iter()
            .filter(|(pid, up)| found.contains(up) && !found.contains(pid))
            .collect();
        if more.is_empty() {
            break;
        }
        found.extend(more.into_iter().map(|(pid, _)| *pid));
    }
    found
        .into_iter()
        .filter(|pid| *pid != root)
        .map(process)
        .collect()
}

/// Returns the arguments and environments of the processes with these words in their arguments.
pub fn shown_with(words: &str) -> String {
    let entries = std::fs::read_dir("/proc").unwrap();
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let matching = pids
        .map(process)
        .filter(|process| process.arguments.contains(words));
    matching
        .map(|process| format!("{} {}\n", process.arguments, process.environment))
        .collect()
}

/// Whether a process runs. A zombie does not.
pub fn is_alive(pid: u32) -> bool {
    status(pid, "State:").is_some_and(|state| !state.starts_with('Z'))
}

/// Returns the peak bytes that a process has held in memory since it started.
pub fn peak_bytes(pid: u32) -> u64 {
    let peak = status(pid, "VmHWM:").expect("the process runs");
    peak.trim_end_matches("kB")
        .trim()
        .parse::<u64>()
        .expect("kilobytes")
        * 1024
}

/// Returns a process's arguments; none once it has ended.
pub fn arguments(pid: u32) -> String {
    words(pid, "cmdline")
}

/// The arguments are read first: once they belong to the process's own program, so does the
/// environment.
fn process(pid: u32) -> Process {
    Process {
        pid,
        arguments: arguments(pid),
        environment: words(pid, "environ"),
    }
}

fn words(pid: u32, file: &str) -> String {
    let bytes = std::fs::read(folder(pid).join(file)).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}

fn parent(pid: u32) -> Option<u32> {
    status(pid, "PPid:")?.parse().ok()
}

fn status(pid: u32, field: &str) -> Option<String> {
    let status = std::fs::read_to_string(folder(pid).join("status")).ok()?;
    Some(
        status
            .lines()
            .find_map(|line| line.strip_prefix(field))?
            .trim()
            .to_owned(),
    )
}

fn folder(pid: u32) -> PathBuf {
    PathBuf::from("/proc").join(pid.to_string())
}
