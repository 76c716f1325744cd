//! A chosen sandbox.

use std::{ffi::OsString, io, path::PathBuf, sync::Arc};

use ars_types::{Cgroup, SandboxKind, SandboxNetwork};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs,
};

use super::{
    access::{Access, Reach},
    bubblewrap,
    bubblewrap::Bubblewrap,
    calls,
    calls::AbstractSockets,
    folders::Folders,
    groups::{Groups, RunGroup},
    ruleset,
    ruleset::Features,
    session::{Options, SERVE, Signals},
    staged::Staged,
};

/// The processes that a restricted thread can signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Domain {
    /// Only those that it started.
    Own,
    /// All the user's processes.
    User,
}

/// Landlock's gap in file rights.
const ATTRIBUTES: &str = "commands can change the modes and times of this user's files, because Landlock has no rule for them";
/// The gap in a Landlock without scopes.
const SIGNALS: &str = "commands can signal this user's processes and survive their end, because the kernel is older \
                       than 6.12";

/// How commands are confined.
#[derive(Debug, Clone)]
pub(crate) struct Sandbox {
    pub(super) kind: SandboxKind,
    pub(super) network: SandboxNetwork,
    pub(super) may_listen: bool,
    pub(super) folders: Folders,
    pub(super) features: Features,
    /// The program, for `SandboxKind::Bubblewrap`.
    pub(super) bubblewrap: Bubblewrap,
    /// Copy of the `/etc` settings. Without it each has a separate mount.
    pub(super) staged: Option<Arc<Staged>>,
    /// The first program in a network namespace.
    pub(super) entry: Option<PathBuf>,
    /// Why stronger kinds were skipped.
    pub(super) skipped: Option<String>,
    /// Control groups for runs.
    pub(super) groups: Groups,
}

impl Sandbox {
    /// Returns the sandbox kind.
    pub(crate) const fn kind(&self) -> SandboxKind {
        self.kind
    }

    /// Returns the commands' network.
    pub(crate) const fn network(&self) -> SandboxNetwork {
        self.network
    }

    /// Returns the service's own program, if it is known.
    pub(crate) fn entry(&self) -> Option<PathBuf> {
        self.entry.clone()
    }

    /// Returns why stronger kinds were skipped.
    pub(crate) fn skipped(&self) -> Option<String> {
        self.skipped.clone()
    }

    /// Returns the version of the runs' control groups.
    pub(crate) fn cgroup(&self) -> Cgroup {
        self.groups.version()
    }

    /// Returns why runs have no control groups.
    pub(crate) fn no_cgroup(&self) -> Option<&str> {
        self.groups.obstacle()
    }

    /// Returns a run's control group.
    pub(crate) fn group_of_run(&self) -> Option<Arc<RunGroup>> {
        self.groups.of_run()
    }

    /// Returns what commands can do although they are confined.
    pub(crate) fn gaps(&self) -> Vec<&'static str> {
        let of_kind: &[&str] = match self.kind {
            SandboxKind::None => return vec!["commands are not confined"],
            SandboxKind::Landlock if !self.features.scopes => &[ATTRIBUTES, SIGNALS],
            SandboxKind::Landlock => &[ATTRIBUTES],
            SandboxKind::Bubblewrap => &[],
        };
        let of_network = match (self.kind, self.network) {
            (_, SandboxNetwork::Open) => {
                Some("commands reach the network, and the ports of this machine")
            }
            (SandboxKind::Landlock, SandboxNetwork::Proxy) => {
                Some("commands reach every host that listens on the port of their proxy")
            }
            (_, SandboxNetwork::Proxy | SandboxNetwork::None) => None,
        };
        of_kind.iter().copied().chain(of_network).collect()
    }

    /// Returns the arguments that precede a program.
    pub(crate) fn arguments(&self, access: &Access) -> Vec<OsString> {
        match self.kind {
            SandboxKind::Bubblewrap => {
                let programs = bubblewrap::Programs {
                    own: &self.bubblewrap,
                    entry: self.entry.as_deref(),
                };
                bubblewrap::arguments(&programs, &self.folders, self.staged.as_deref(), access)
            }
            SandboxKind::Landlock | SandboxKind::None => Vec::new(),
        }
    }

    /// Returns a session's words: a sandbox's first program, which starts commands. `None` if this
    /// kind, kernel or service can have none.
    pub(crate) fn session_words(&self, access: &Access) -> Option<Vec<OsString>> {
        match self.kind {
            SandboxKind::Bubblewrap => {
                let programs = bubblewrap::Programs {
                    own: &self.bubblewrap,
                    entry: self.entry.as_deref(),
                };
                let (folders, staged) = (&self.folders, self.staged.as_deref());
                bubblewrap::session_arguments(
                    &programs,
                    folders,
                    staged,
                    access,
                    self.features.scopes,
                )
            }
            // Without scopes a command could signal the program that starts it.
            SandboxKind::Landlock if self.features.scopes => {
                let options = Options {
                    max_processes: None,
                    has_listener: false,
                    signals: Signals::Domain,
                    memory: None,
                    place: access.temporary.clone(),
                };
                let words = options.words().map(OsString::from);
                let entry = self.entry.clone()?.into_os_string();
                Some([entry, SERVE.into()].into_iter().chain(words).collect())
            }
            SandboxKind::Landlock | SandboxKind::None => None,
        }
    }

    /// Returns the abstract sockets that a program in the namespaces reaches. With the machine's
    /// network it has no network namespace, so only Landlock separates them.
    fn abstract_sockets(&self, access: &Access) -> AbstractSockets {
        match access.reach {
            Reach::Machine if !self.features.scopes => AbstractSockets::Shared,
            Reach::Machine | Reach::Proxy(_) | Reach::Nothing => AbstractSockets::Separate,
        }
    }

    /// Takes every right from this thread that the program must not have.
    pub(crate) fn confine_this_thread(&self, access: &Access) -> io::Result<Domain> {
        set_no_new_privs(true)?;
        match self.kind {
            SandboxKind::Bubblewrap => {
                if self.features.scopes {
                    ruleset::restrict_scopes()?;
                }
                calls::filter_beside_namespaces(self.abstract_sockets(access))?;
            }
            SandboxKind::Landlock => {
                ruleset::restrict(&self.folders, access, self.features)?;
                calls::filter(&access.reach, self.may_listen)?;
            }
            SandboxKind::None => {}
        }
        // As root, bubblewrap needs this capability to map the user into the namespace. It drops it
        // with all others.
        let kept = match self.kind {
            SandboxKind::Bubblewrap => CapabilitySet::SETFCAP,
            SandboxKind::Landlock | SandboxKind::None => CapabilitySet::empty(),
        };
        keep_capabilities(kept)?;
        let is_scoped = self.features.scopes && self.kind != SandboxKind::None;
        Ok(if is_scoped { Domain::Own } else { Domain::User })
    }
}

/// Drops every capability from this thread and child processes. With the promise, even root's
/// programs gain none.
pub(crate) fn give_up_capabilities() -> io::Result<()> {
    set_no_new_privs(true)?;
    keep_capabilities(CapabilitySet::empty())
}

fn keep_capabilities(kept: CapabilitySet) -> io::Result<()> {
    let held = capabilities(None)?.permitted & kept;
    let sets = CapabilitySets {
        effective: held,
        permitted: held,
        inheritable: CapabilitySet::empty(),
    };
    Ok(set_capabilities(None, sets)?)
}
