//! Landlock: the rights that a thread and every program it starts give up.
//!
//! Files need the third version of the kernel's interface, because before it a file could be
//! truncated without a right (Linux 6.2). Later versions add TCP (4) and signals with abstract
//! sockets (6).

use std::{
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, NetPort,
    PathBeneath, Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus,
    Scope, path_beneath_rules,
};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};

use super::{
    access::{Access, Reach},
    folders::Folders,
};
use crate::egress::Way;

/// The version that is required for files.
const REQUIRED: ABI = ABI::V3;
/// The newest version whose file rights are given up where the kernel has them.
const NEWEST: ABI = ABI::V10;
/// Port for a listener whose port the kernel selects.
const ANY_PORT: u16 = 0;
/// Devices that have no state.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// The Landlock features that the kernel has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Features {
    /// Files, as far as this sandbox requires.
    pub(super) files: bool,
    /// TCP connections and listeners.
    pub(super) tcp: bool,
    /// Signals and abstract sockets.
    pub(super) scopes: bool,
}

impl Features {
    /// Returns the running kernel's features.
    pub(super) fn of_this_kernel() -> Self {
        let strict = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        Self {
            files: strict().handle_access(AccessFs::from_all(REQUIRED)).is_ok(),
            tcp: strict()
                .handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)
                .is_ok(),
            scopes: strict()
                .scope(Scope::Signal | Scope::AbstractUnixSocket)
                .is_ok(),
        }
    }
}

/// Restricts this thread to the scopes only: files and network are confined by other means.
pub(super) fn restrict_scopes() -> io::Result<()> {
    let restrict = || -> Result<RulesetStatus, RulesetError> {
        let rules = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .scope(Scope::Signal | Scope::AbstractUnixSocket)?;
        Ok(rules.create()?.restrict_self()?.ruleset)
    };
    enforced(restrict())
}

/// Restricts a thread's scopes in a domain that has file rules, and leaves those as they are.
pub(super) fn restrict_scopes_of_domain() -> io::Result<()> {
    let restrict = || -> Result<RulesetStatus, RulesetError> {
        // Beside rules for files, a domain without any refuses to move files between folders.
        let rules = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::Refer)?
            .scope(Scope::Signal | Scope::AbstractUnixSocket)?;
        let rules = rules
            .create()?
            .add_rules(path_beneath_rules(["/"], AccessFs::Refer))?;
        Ok(rules.restrict_self()?.ruleset)
    };
    enforced(restrict())
}

/// Restricts this thread to the folders and to what `access` adds.
pub(super) fn restrict(folders: &Folders, access: &Access, features: Features) -> io::Result<()> {
    let open = |paths: &[PathBuf]| {
        paths
            .iter()
            .map(|path| open_folder(path))
            .collect::<io::Result<Vec<_>>>()
    };
    let own = [open(&access.writable)?, open(&access.readable)?];
    enforced(rules(folders, &access.entry, own, &access.reach, features))
}

fn rules(
    folders: &Folders,
    entry: &Option<PathBuf>,
    [writable, looked_into]: [Vec<OwnedFd>; 2],
    reach: &Reach,
    features: Features,
) -> Result<RulesetStatus, RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(REQUIRED))?;
    if features.scopes {
        rules = rules.scope(Scope::Signal | Scope::AbstractUnixSocket)?;
    }
    if *reach != Reach::Machine {
        rules = rules.handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)?;
    }
    let rules = rules
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?;
    let readable = AccessFs::from_read(NEWEST);
    let looked_at: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::ReadDir;
    let own = AccessFs::from_all(NEWEST) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let ports = match reach {
        Reach::Proxy(Way::Port(port)) => {
            // A socket that listens without an address has a port that the kernel selects anyway.
            vec![
                NetPort::new(*port, AccessNet::ConnectTcp),
                NetPort::new(ANY_PORT, AccessNet::BindTcp),
            ]
        }
        Reach::Proxy(Way::Socket(_) | Way::Session) | Reach::Machine | Reach::Nothing => Vec::new(),
    };
    let created = rules
        .create()?
        .add_rules(ports.into_iter().map(Ok::<_, RulesetError>))?
        .add_rules(path_beneath_rules(folders.paths(), readable))?
        .add_rules(path_beneath_rules(entry, readable))?
        .add_rules(path_beneath_rules(
            DEVICES,
            AccessFs::ReadFile | AccessFs::WriteFile,
        ))?
        .add_rules(path_beneath_rules(["/proc"], looked_at))?
        .add_rules(beneath(looked_into, looked_at))?
        .add_rules(beneath(writable, own))?;
    Ok(created.restrict_self()?.ruleset)
}

/// Returns the rules that give rights beneath opened folders.
fn beneath(
    folders: Vec<OwnedFd>,
    rights: BitFlags<AccessFs>,
) -> impl Iterator<Item = Result<PathBeneath<OwnedFd>, RulesetError>> {
    folders
        .into_iter()
        .map(move |folder| Ok(PathBeneath::new(folder, rights)))
}

/// Opens a folder for a rule. A link anywhere in the path is refused, because a rule applies to the
/// link's target.
fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat2(
        CWD,
        path,
        flags,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS,
    )?)
}

fn enforced(status: Result<RulesetStatus, RulesetError>) -> io::Result<()> {
    match status.map_err(io::Error::other)? {
        RulesetStatus::NotEnforced => Err(io::Error::other("the kernel has no Landlock")),
        // Newer kernels' rights may be missing; the required rights are not.
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
    }
}
