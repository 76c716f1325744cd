//! Two cores: one for what is measured, one for the load.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// The core that the measured Workers share; one of them is idle whenever the other is measured.
pub const WORKER_CORE: usize = 0;

/// The core the load is made on.
const OWN_CORE: usize = 1;

/// Keeps this process off the measured Workers' core and, where that is allowed, it and what it starts ahead of others.
pub fn settle() -> Result<()> {
    let cores = std::thread::available_parallelism()?.get();
    ensure!(cores > OWN_CORE, "two cores are needed: one for the Workers, one for the load");
    // Only root may, and a nice value would not do: it counts within a session only. Without it the note below the
    // table tells how much others disturbed.
    let pid = std::process::id().to_string();
    let _ = Command::new("chrt").args(["--rr", "--pid", "1", &pid]).stderr(Stdio::null()).status();
    let mut set = rustix::thread::CpuSet::new();
    set.set(OWN_CORE);
    rustix::thread::sched_setaffinity(None, &set).context("cannot stay on one core")
}
