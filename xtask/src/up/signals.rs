//! Ctrl-C, SIGTERM and SIGHUP stop all started parts at any time.
//!
//! During set-up, foreign tools run (cargo, npm): they are terminated, so that the step fails and
//! the command exits. During serving, the parts' owner stops them in order.

use std::collections::HashMap;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator;

use super::interrupted::Interrupted;

/// Time between two rounds that end tools: a tool may have been about to start another.
const ROUND: Duration = Duration::from_millis(100);

/// The signals received so far.
#[derive(Clone)]
pub struct Signals {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    received: AtomicUsize,
    serving: AtomicBool,
}

impl Signals {
    /// Listens from now on.
    pub fn listen() -> Result<Self> {
        let mut arrivals = iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])
            .context("cannot listen for signals")?;
        let shared = Arc::new(Shared::default());
        let listener = Arc::clone(&shared);
        thread::spawn(move || {
            for _ in arrivals.forever() {
                if listener.received.fetch_add(1, Ordering::SeqCst) == 0
                    && !listener.serving.load(Ordering::SeqCst)
                {
                    thread::spawn(end_tools);
                }
            }
        });
        Ok(Self { shared })
    }

    /// Returns whether to stop.
    pub fn received(&self) -> bool {
        self.shared.received.load(Ordering::SeqCst) > 0
    }

    /// Whether to stop at once.
    pub fn insists(&self) -> bool {
        self.shared.received.load(Ordering::SeqCst) > 1
    }

    /// Ends the set-up phase, unless a signal arrived.
    pub fn serving(&self) -> Result<()> {
        self.shared.serving.store(true, Ordering::SeqCst);
        if self.received() {
            Err(Interrupted.into())
        } else {
            Ok(())
        }
    }
}

/// Ends this process's descendants until it leaves.
fn end_tools() {
    loop {
        for pid in descendants(std::process::id()) {
            if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                // It may have exited already.
                let _ = kill_process(pid, Signal::TERM);
            }
        }
        thread::sleep(ROUND);
    }
}

/// Returns the processes that this process started, directly or not.
fn descendants(of: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        if let Some(parent) = parent(&stat) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut open = vec![of];
    while let Some(next) = open.pop() {
        let born = children.remove(&next).unwrap_or_default();
        open.extend(&born);
        found.extend(born);
    }
    found
}

/// The parent in a `/proc/<pid>/stat` line. The name before it may hold anything, parentheses included.
fn parent(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?
        .1
        .split_whitespace()
        .nth(1)?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn the_parent_is_found_behind_any_name() {
        assert_eq!(parent("42 (a) b (c)) S 7 42 42 0"), Some(7));
        assert_eq!(parent(""), None);
    }

    #[test]
    fn a_child_is_among_the_descendants() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        assert!(descendants(std::process::id()).contains(&child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
