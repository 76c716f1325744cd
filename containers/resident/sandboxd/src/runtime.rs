//! The parts that every step needs: settings, places, programs, free space.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use ars_resident::layout::{
    DEPS, MIRROR, OPS, RUNTIME, STATE, STREAMS, TEMPORARIES, THREADS, TRANSFERS, TRASH, WORKSPACE,
};
use ars_resident::names::RuntimeId;
use ars_resident::plan::User;
use rustix::fs::statvfs;

use crate::{
    confine::Place,
    failure::OpenError,
    homes::{self, TEMPORARY, make_folder, temporary_of},
    places::Places,
    process::{KILL_TIMEOUT, kill_tagged},
    settings::{Mode, Settings},
    users,
};

/// The daemon's git settings: all users may read the mirror.
pub(crate) const GLOBAL: &str = "/workspace/.gitconfig";
/// Folders with the daemon's own programs. Nothing in a tree is inside them.
const TRUSTED: [&str; 7] = [
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    "/run/current-system/sw/bin",
];
/// Mode for folders that everyone may enter.
const OPEN: u32 = 0o755;
/// Mode for folders private to a user.
const PRIVATE: u32 = 0o700;

/// The daemon's programs.
#[derive(Debug)]
pub(crate) struct Programs {
    pub(crate) git: PathBuf,
    /// The shell that runs commands.
    pub(crate) shell: PathBuf,
    /// The shell for the daemon's scripts, which starts faster.
    pub(crate) sh: PathBuf,
    pub(crate) rm: PathBuf,
    pub(crate) chmod: PathBuf,
    pub(crate) du: PathBuf,
}

/// The parts that every step needs.
#[derive(Debug)]
pub(crate) struct Runtime {
    pub(crate) settings: Settings,
    pub(crate) places: Places,
    pub(crate) programs: Programs,
    pub(crate) id: RuntimeId,
    tags: AtomicU64,
}

impl Runtime {
    /// Creates the workspace folders, and ends an earlier daemon's processes in them.
    pub(crate) fn open(settings: Settings) -> Result<Self, OpenError> {
        if matches!(settings.mode, Mode::Users) && !rustix::process::geteuid().is_root() {
            return Err(OpenError::NotRoot);
        }
        let programs = Programs::find()?;
        let places = prepare(&settings).map_err(OpenError::Workspace)?;
        let id = identify(&places).map_err(OpenError::Workspace)?;
        let everyone = users::all().map(|user| users::uid(&settings.mode, user));
        let own = rustix::process::getuid().as_raw();
        for uid in everyone.chain([own]).collect::<BTreeSet<_>>() {
            kill_tagged(&format!("{id}/"), uid, KILL_TIMEOUT);
        }
        homes::replace_all(&places, &settings).map_err(OpenError::Workspace)?;
        Ok(Self {
            settings,
            places,
            programs,
            id,
            tags: AtomicU64::new(1),
        })
    }

    /// Returns the tag for a user's next program.
    pub(crate) fn next_tag(&self, user: User) -> String {
        // The end keeps apart the numbers 1 and 10.
        format!(
            "{}/{}/{}.",
            self.id,
            users::name(user),
            self.tags.fetch_add(1, Ordering::Relaxed)
        )
    }

    /// Returns the prefix of a user's program tags.
    pub(crate) fn tags_of(&self, user: User) -> String {
        format!("{}/{}/", self.id, users::name(user))
    }

    /// Returns the free space in KiB, if it can be read.
    pub(crate) fn free_kib(&self) -> Option<u64> {
        self.space().map(|(_, free)| free)
    }

    /// Returns the disk's size and free space in KiB.
    pub(crate) fn space(&self) -> Option<(u64, u64)> {
        let stat = statvfs(self.places.root()).ok()?;
        let kib = |blocks: u64| blocks.saturating_mul(stat.f_frsize) / 1024;
        Some((kib(stat.f_blocks), kib(stat.f_bavail)))
    }

    /// Returns the folder for streams.
    pub(crate) fn streams(&self) -> crate::failure::Result<PathBuf> {
        self.places.real(STREAMS)
    }

    /// Returns the folders for a program that works in `tree`.
    pub(crate) fn place(
        &self,
        user: User,
        tree: &Path,
        has_network: bool,
    ) -> crate::failure::Result<Place> {
        let home = users::home(&self.places, user)?;
        let has_users = matches!(self.settings.mode, Mode::Users);
        let mut readable = Vec::new();
        if has_users {
            readable.push(self.places.real(GLOBAL)?);
        }
        // The daemon's git reads the mirror, a repository's commands do not: it has all threads'
        // saved work. On a host the user could change it.
        if !has_network && (has_users || user == User::BUILD) {
            readable.push(self.places.real(MIRROR)?);
        }
        let mut writable = vec![tree.to_owned(), home.clone()];
        let temporary = if has_users {
            let temporary = self.places.real(&temporary_of(user))?;
            writable.push(temporary.clone());
            temporary
        } else {
            home.join(TEMPORARY)
        };
        Ok(Place {
            writable,
            readable,
            temporary,
            has_network,
        })
    }
}

impl Programs {
    fn find() -> Result<Self, OpenError> {
        let find = |name: &'static str| {
            let mut paths = TRUSTED.iter().map(|folder| Path::new(folder).join(name));
            paths
                .find(|path| path.is_file())
                .ok_or(OpenError::Program(name))
        };
        let shell = find("bash").or_else(|_| find("sh"))?;
        Ok(Self {
            git: find("git")?,
            shell,
            sh: find("sh")?,
            rm: find("rm")?,
            chmod: find("chmod")?,
            du: find("du")?,
        })
    }
}

/// Creates the folders with their permissions.
fn prepare(settings: &Settings) -> io::Result<Places> {
    fs::create_dir_all(&settings.root)?;
    fs::create_dir_all(&settings.homes)?;
    let places = Places::open(&settings.root, &settings.homes)?;
    let real = |path: &str| {
        places
            .real(path)
            .map_err(|failure| io::Error::other(failure.stderr))
    };
    for (path, mode) in [
        (WORKSPACE, OPEN),
        (STATE, PRIVATE),
        (STREAMS, PRIVATE),
        (TRANSFERS, PRIVATE),
        (TRASH, PRIVATE),
        (DEPS, OPEN),
        (THREADS, OPEN),
        (OPS, OPEN),
        (TEMPORARIES, OPEN),
    ] {
        make_folder(&real(path)?, mode)?;
    }
    for user in users::all() {
        homes::prepare(&places, settings, user)?;
    }
    Ok(places)
}

/// Returns this disk's id. A new container has an empty disk, which gets another id.
fn identify(places: &Places) -> io::Result<RuntimeId> {
    let path = places
        .real(RUNTIME)
        .map_err(|failure| io::Error::other(failure.stderr))?;
    if let Some(id) = fs::read_to_string(&path)
        .ok()
        .and_then(|text| RuntimeId::parse(text.trim()).ok())
    {
        return Ok(id);
    }
    let text = uuid::Uuid::new_v4().to_string();
    fs::write(&path, &text)?;
    RuntimeId::parse(text).map_err(io::Error::other)
}

/// Returns words as program arguments.
pub(crate) fn words<const N: usize>(words: [&str; N]) -> [OsString; N] {
    words.map(OsString::from)
}
