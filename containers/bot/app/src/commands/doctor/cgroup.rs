//! Control groups for runs, and for the process, which bounds all runs together. The reasons are in
//! docs/decisions/0029.

use std::{fs, path::Path};

use ars_bot_adapters::workspace::GitWorkspaces;

use crate::finding::Finding;

/// The limits that a service manager sets, and their settings in systemd.
const LIMITS: [(&str, &str); 2] = [("memory.max", "MemoryMax"), ("pids.max", "TasksMax")];
/// Limit value in a group without a limit.
const NO_LIMIT: &str = "max";

/// Reports whether each run has a group. The sandbox was tried out before; without a sandbox no
/// command runs.
pub(super) fn of_runs(workspaces: &GitWorkspaces) -> Option<Finding> {
    const CHECK: &str = "run-cgroup";
    const MEND: &str = "start the service by systemd with Delegate=yes, alone in its unit, or in a container with a \
                        control group that it may write";
    let confinement = workspaces.confinement().ok()?;
    let version = confinement.cgroup;
    Some(match confinement.no_cgroup {
        None => Finding::ok(
            CHECK,
            format!("{version}: memory and processes of each run are limited"),
        ),
        Some(reason) => {
            let detail = format!("{version}: only each process of a run is limited: {reason}");
            Finding::warning(CHECK, detail, MEND)
        }
    })
}

/// Reports the limits on this process's group.
pub(super) fn check() -> Finding {
    finding(
        &fs::read_to_string("/proc/self/cgroup").unwrap_or_default(),
        Path::new("/sys/fs/cgroup"),
    )
}

/// Reports the limits for the group in `/proc/<pid>/cgroup`, and for the groups that contain it.
fn finding(groups: &str, root: &Path) -> Finding {
    const CHECK: &str = "cgroup";
    const MEND: &str = "start the service with MemoryMax and TasksMax, in a group of version 2, or in a container with limits";
    let Some(group) = groups.lines().find_map(|line| line.strip_prefix("0::")) else {
        return Finding::warning(
            CHECK,
            "no group of version 2 bounds memory and processes of all runs",
            MEND,
        );
    };
    let group = root.join(group.trim_start_matches('/'));
    let limits = LIMITS.map(|(file, _)| least(&group, root, file));
    let shown =
        |limit: &Option<u64>| limit.map_or_else(|| NO_LIMIT.to_owned(), |limit| limit.to_string());
    let detail = format!(
        "memory.max {}, pids.max {}, for all runs together",
        shown(&limits[0]),
        shown(&limits[1])
    );
    let missing: Vec<_> = LIMITS
        .iter()
        .zip(&limits)
        .filter(|(_, limit)| limit.is_none())
        .collect();
    match missing.is_empty() {
        true => Finding::ok(CHECK, detail),
        false => Finding::warning(CHECK, detail, MEND),
    }
}

/// Returns the least limit in a group and the groups above it.
fn least(group: &Path, root: &Path, file: &str) -> Option<u64> {
    let groups = group
        .ancestors()
        .take_while(|folder| folder.starts_with(root));
    let limits = groups.filter_map(|folder| {
        fs::read_to_string(folder.join(file))
            .ok()?
            .trim()
            .parse()
            .ok()
    });
    limits.min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::State;

    #[test]
    fn least_limit_of_the_groups_counts() {
        let root = tempfile::tempdir().unwrap();
        let group = root.path().join("system.slice/ars.service");
        fs::create_dir_all(&group).unwrap();
        let write =
            |folder: &Path, file: &str, limit: &str| fs::write(folder.join(file), limit).unwrap();
        write(&group, "memory.max", "max\n");
        write(group.parent().unwrap(), "memory.max", "2048\n");
        write(&group, "pids.max", "max\n");
        let groups = "0::/system.slice/ars.service\n";
        let found = finding(groups, root.path());
        assert_eq!(
            (found.state, found.detail.as_str()),
            (
                State::Warning,
                "memory.max 2048, pids.max max, for all runs together"
            )
        );
        write(&group, "pids.max", "64\n");
        assert_eq!(finding(groups, root.path()).state, State::Ok);
        assert_eq!(finding("4:memory:/x\n", root.path()).state, State::Warning);
    }
}
