//! Program users: ids, names and homes.

use std::{ffi::OsString, path::PathBuf};

use ars_resident::daemon::StepFailure;
use ars_resident::layout::HOMES;
use ars_resident::plan::{Unprivileged, User};
use ars_resident::pool::{BUILD_UID, BUILD_USER, PoolUser};
use rustix::fs::{Gid, Uid};

use crate::places::Places;
use crate::settings::Mode;

/// A file's owner: user and group with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner(pub(crate) u32);

impl Owner {
    pub(crate) fn uid(self) -> Uid {
        Uid::from_raw(self.0)
    }

    pub(crate) fn gid(self) -> Gid {
        Gid::from_raw(self.0)
    }
}

/// Returns the owner for a user's files. `None` if the daemon's own user owns everything.
pub(crate) fn owner(mode: &Mode, user: User) -> Option<Owner> {
    match (mode, user) {
        (Mode::Host(_), _) => None,
        (Mode::Users, User::Root(_)) => Some(Owner(0)),
        (Mode::Users, User::Unprivileged(Unprivileged::Build)) => Some(Owner(BUILD_UID)),
        (Mode::Users, User::Unprivileged(Unprivileged::Pool(user))) => Some(Owner(user.uid())),
    }
}

/// Returns the id under which a user's processes run.
pub(crate) fn uid(mode: &Mode, user: User) -> u32 {
    owner(mode, user).map_or_else(|| rustix::process::getuid().as_raw(), |owner| owner.0)
}

/// Returns a user's name, which also names the home.
pub(crate) fn name(user: User) -> String {
    match user {
        User::Root(_) => "root".to_owned(),
        User::Unprivileged(Unprivileged::Build) => BUILD_USER.to_owned(),
        User::Unprivileged(Unprivileged::Pool(user)) => user.to_string(),
    }
}

/// Returns a user's home. Root has none.
pub(crate) fn home(places: &Places, user: User) -> Result<PathBuf, StepFailure> {
    match user {
        User::Root(_) => Ok(places.root().to_owned()),
        User::Unprivileged(_) => places.real(&format!("{HOMES}/{}", name(user))),
    }
}

/// Returns every unprivileged user.
pub(crate) fn all() -> impl Iterator<Item = User> {
    std::iter::once(User::BUILD).chain(PoolUser::all().map(User::pool))
}

/// Returns the variables that name a user.
pub(crate) fn variables(home: PathBuf, user: User) -> [(OsString, OsString); 3] {
    let name = name(user);
    [
        ("HOME".into(), home.into()),
        ("USER".into(), name.clone().into()),
        ("LOGNAME".into(), name.into()),
    ]
}
