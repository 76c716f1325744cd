//! Bubblewrap: a program in its own namespaces.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::session::{Options, SERVE, Signals};
use super::{
    access::{Access, Reach},
    folders::Folders,
    programs::trusted,
    staged::{SETTINGS, Staged},
};
use crate::egress::{ENTER, Way};

/// The namespaces, and the program's rights in them.
const NAMESPACES: &[&str] = &[
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--new-session",
    "--cap-drop",
    "ALL",
];
/// Maximum processes and threads in a sandbox. The kernel counts them apart from the user's others.
/// Root has no limit.
const MAX_PROCESSES: u32 = 1_024;
/// Maximum file bytes in each in-memory folder.
const MAX_MEMORY_FILES: u64 = 1 << 30;
/// Sets the limit given as `$0`, in the words that either shell uses, then becomes the program. Not
/// needed where the first program sets it.
const LIMITED: &str = "ulimit -u $0 2>/dev/null || ulimit -p $0 2>/dev/null; exec \"$@\"";

/// Path to the first program in the sandbox.
const ENTRY: &str = "/run/ars/enter";
/// The last options. These folders are in memory too, and earlier options make mount points in
/// them.
const LAST: [&str; 5] = ["--remount-ro", "/dev", "--remount-ro", "/", "--"];
/// Path to the socket for the first program's listener.
const SOCKET: &str = "/run/ars/egress";

/// The installed bubblewrap.
#[derive(Debug, Clone, Default)]
pub(super) struct Bubblewrap {
    path: PathBuf,
    /// Option that sets an in-memory folder's size. Versions before 0.7 have none.
    size: Option<u64>,
}

impl Bubblewrap {
    /// Returns the program in a trusted folder.
    pub(super) fn find() -> Option<Self> {
        let path = trusted("bwrap")?;
        let help = Command::new(&path)
            .arg("--help")
            .env_clear()
            .stdin(Stdio::null())
            .output();
        let has_size =
            help.is_ok_and(|help| String::from_utf8_lossy(&help.stdout).contains("--size "));
        Some(Self {
            path,
            size: has_size.then_some(MAX_MEMORY_FILES),
        })
    }

    /// Returns the arguments that make a folder in memory.
    fn memory_folder(&self, path: &str) -> impl Iterator<Item = OsString> {
        let size = self
            .size
            .map(|bytes| ["--size".to_owned(), bytes.to_string()]);
        size.into_iter()
            .flatten()
            .chain(["--tmpfs".to_owned(), path.to_owned()])
            .map(OsString::from)
    }
}

/// The folder in memory for memory that processes share.
const SHARED_MEMORY: &str = "/dev/shm";

/// Programs that the service provides.
pub(super) struct Programs<'a> {
    pub(super) own: &'a Bubblewrap,
    /// The service's own program, which can be a sandbox's first program.
    pub(super) entry: Option<&'a Path>,
}

/// Returns the arguments for a session, in which the service's program starts commands.
pub(super) fn session_arguments(
    programs: &Programs<'_>,
    folders: &Folders,
    staged: Option<&Staged>,
    access: &Access,
    has_scopes: bool,
) -> Option<Vec<OsString>> {
    let entry = programs.entry?;
    // The in-memory folder is emptied after each command, and must contain nothing from the
    // workspace.
    if access
        .writable
        .iter()
        .chain(&access.readable)
        .any(|path| path.starts_with(SHARED_MEMORY))
    {
        return None;
    }
    let mut arguments = mounts(programs, folders, staged, access);
    // The kernel ignores signals from within for a namespace's first process.
    arguments.push("--as-pid-1".into());
    arguments.extend(["--ro-bind".into(), entry.into(), ENTRY.into()]);
    arguments.extend(LAST.map(OsString::from));
    let options = Options {
        max_processes: Some(MAX_PROCESSES),
        has_listener: matches!(access.reach, Reach::Proxy(_)),
        signals: if has_scopes {
            Signals::Scopes
        } else {
            Signals::Namespace
        },
        memory: Some(SHARED_MEMORY),
        place: access.temporary.clone(),
    };
    arguments.extend([ENTRY, SERVE].map(OsString::from));
    arguments.extend(options.words().map(OsString::from));
    Some(arguments)
}

/// Returns the arguments that precede a program, starting with bubblewrap's path.
pub(super) fn arguments(
    programs: &Programs<'_>,
    folders: &Folders,
    staged: Option<&Staged>,
    access: &Access,
) -> Vec<OsString> {
    let mut arguments = mounts(programs, folders, staged, access);
    let socket = match &access.reach {
        Reach::Proxy(Way::Socket(socket)) => programs.entry.map(|entry| (entry, socket)),
        Reach::Proxy(Way::Port(_) | Way::Session) | Reach::Machine | Reach::Nothing => None,
    };
    if let Some((entry, socket)) = socket {
        arguments.extend(["--ro-bind".into(), entry.into(), ENTRY.into()]);
        arguments.extend(["--ro-bind".into(), socket.into(), SOCKET.into()]);
    }
    arguments.extend(LAST.map(OsString::from));
    let maximum = MAX_PROCESSES.to_string();
    if socket.is_some() {
        arguments.extend([ENTRY, ENTER, SOCKET, &maximum].map(OsString::from));
    } else if !access.is_of_service && !rustix::process::geteuid().is_root() {
        arguments.extend(["/bin/sh", "-c", LIMITED, &maximum].map(OsString::from));
    }
    arguments
}

/// Returns bubblewrap's path, and the arguments for namespaces and folders.
fn mounts(
    programs: &Programs<'_>,
    folders: &Folders,
    staged: Option<&Staged>,
    access: &Access,
) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec![programs.own.path.clone().into()];
    arguments.extend(NAMESPACES.iter().map(OsString::from));
    if access.reach != Reach::Machine {
        arguments.push("--unshare-net".into());
    }
    // A program folder below `/etc` needs a mount point there, which the copy does not have.
    let mut own = access.writable.iter().chain(&access.readable);
    let staged = staged
        .filter(|_| !own.any(|path| path.starts_with(SETTINGS)))
        .and_then(Staged::folder);
    if let Some(staged) = staged {
        arguments.extend(["--ro-bind".into(), staged.into(), SETTINGS.into()]);
    }
    for path in folders
        .paths()
        .iter()
        .filter(|path| staged.is_none() || !path.starts_with(SETTINGS))
    {
        match fs::read_link(path) {
            // `/bin` and the like; the target is among the folders.
            Ok(target) if target.is_relative() => {
                arguments.extend(["--symlink".into(), target.into(), path.clone().into()]);
            }
            _ => arguments.extend([
                "--ro-bind-try".into(),
                path.clone().into(),
                path.clone().into(),
            ]),
        }
    }
    // A writable `/proc` would let a command take back that the kernel kills it first when memory runs out.
    arguments
        .extend(["--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev"].map(OsString::from));
    arguments.extend(programs.own.memory_folder(SHARED_MEMORY));
    // A workspace folder below /tmp needs mount points there, which must not be made in the private
    // folder.
    let is_beneath_tmp = access
        .writable
        .iter()
        .chain(&access.readable)
        .any(|path| path.starts_with("/tmp"));
    if is_beneath_tmp {
        arguments.extend(programs.own.memory_folder("/tmp"));
    } else {
        arguments.extend([
            "--bind".into(),
            access.temporary.clone().into(),
            "/tmp".into(),
        ]);
    }
    for path in &access.readable {
        arguments.extend(["--ro-bind".into(), path.clone().into(), path.clone().into()]);
    }
    for path in &access.writable {
        arguments.extend(["--bind".into(), path.clone().into(), path.clone().into()]);
    }
    arguments
}
