//! Group names, by which a later process recognizes a killed process's leftovers.

use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

/// Prefix for every service group name.
const PREFIX: &str = "ars-";
/// Suffix for the group that a service moves itself into.
const SERVICE: &str = "service";

/// A process that makes groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owner {
    /// Number of the process namespace in which the id is valid.
    namespace: u64,
    pid: u32,
    /// Process start in kernel ticks, because ids are used again.
    started: u64,
}

impl Owner {
    /// Returns this process as owner.
    pub(super) fn this(proc: &Path) -> Option<Self> {
        Self::of_process(proc, std::process::id())
    }

    /// Returns a process in this namespace.
    pub(super) fn of_process(proc: &Path, pid: u32) -> Option<Self> {
        Some(Self {
            namespace: namespace(proc)?,
            pid,
            started: started(proc, pid)?,
        })
    }

    /// Returns a name for another group.
    pub(super) fn next(&self) -> String {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        self.name(&NEXT.fetch_add(1, Ordering::Relaxed).to_string())
    }

    /// Returns the name for the process's own group.
    pub(super) fn service(&self) -> String {
        self.name(SERVICE)
    }

    fn name(&self, end: &str) -> String {
        format!(
            "{PREFIX}{}-{}-{}-{end}",
            self.namespace, self.pid, self.started
        )
    }

    /// Parses a group's owner.
    fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_prefix(PREFIX)?.split('-');
        let owner = Self {
            namespace: parts.next()?.parse().ok()?,
            pid: parts.next()?.parse().ok()?,
            started: parts.next()?.parse().ok()?,
        };
        (parts.next().is_some() && parts.next().is_none()).then_some(owner)
    }
}

/// Returns whether a group belongs to a service itself.
pub(super) fn is_of_a_service(name: &str) -> bool {
    Owner::parse(name).is_some() && name.ends_with(SERVICE)
}

/// Returns whether a group is left from an ended process. Nothing is known about other process
/// namespaces, so groups from there are not.
pub(super) fn is_left_over(name: &str, proc: &Path) -> bool {
    let Some(owner) = Owner::parse(name) else {
        return false;
    };
    namespace(proc) == Some(owner.namespace) && started(proc, owner.pid) != Some(owner.started)
}

fn namespace(proc: &Path) -> Option<u64> {
    let link = fs::read_link(proc.join("self/ns/pid")).ok()?;
    link.to_str()?
        .strip_prefix("pid:[")?
        .strip_suffix(']')?
        .parse()
        .ok()
}

fn started(proc: &Path, pid: u32) -> Option<u64> {
    /// The start time's position among the values after the name.
    const START: usize = 19;
    let text = fs::read_to_string(proc.join(pid.to_string()).join("stat")).ok()?;
    let (_, values) = text.rsplit_once(") ")?;
    values.split(' ').nth(START)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_ended_processes_are_left_over() {
        let proc = Path::new("/proc");
        let own = Owner::this(proc).unwrap();
        assert_eq!(Owner::parse(&own.next()), Some(own.clone()));
        assert!(!is_left_over(&own.next(), proc) && !is_left_over(&own.service(), proc));
        let of_its_pid = Owner {
            started: own.started - 1,
            ..own.clone()
        };
        let gone = Owner {
            pid: u32::MAX,
            ..own.clone()
        };
        let elsewhere = Owner {
            namespace: own.namespace + 1,
            ..gone.clone()
        };
        let found = [of_its_pid, gone, elsewhere].map(|owner| is_left_over(&owner.next(), proc));
        assert_eq!(found, [true, true, false]);
        for name in ["ars-1-2-3", "ars-1-2-3-4-5", "ars-x-2-3-4", "system.slice"] {
            assert!(!is_left_over(name, proc), "{name}");
        }
        assert!(is_of_a_service(&own.service()) && !is_of_a_service(&own.next()));
    }
}
