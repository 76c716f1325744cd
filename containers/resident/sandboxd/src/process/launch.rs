//! Starts a container's programs, from a thread with fewer rights.
//!
//! Rights belong to a thread and are inherited. Not here: a host's programs (`crate::confine`).

use std::{io, path::PathBuf, process::Command, thread};

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use rustix::thread::set_no_new_privs;
use tokio::{process::Child, runtime::Handle, sync::oneshot};

use super::rights::restrict;
use crate::confine::Place;

/// Largest file that a program may write: two such files do not fill the largest container's disk.
const MAX_FILE_BYTES: u64 = 8 << 30;
/// Maximum open files per process.
const MAX_OPEN_FILES: u64 = 65_536;
/// Maximum processes and threads per user. Root has no such limit.
const MAX_USER_PROCESSES: u64 = 8_192;

/// The folders for a program that a repository or a caller chose, and the folder for its output
/// files.
pub(super) type Bounds = (Place, PathBuf);

/// Starts a program. No program gains rights from the file, as `sudo` does.
pub(super) async fn launch(command: Command, bounds: Option<Bounds>) -> io::Result<Child> {
    let (sender, receiver) = oneshot::channel();
    let runtime = Handle::current();
    let start = move || {
        let _runtime = runtime.enter();
        let spawn = || {
            tokio::process::Command::from(command)
                .kill_on_drop(true)
                .spawn()
        };
        let rights = || {
            bounds
                .as_ref()
                .map_or(Ok(()), |(place, streams)| restrict(place, streams))
        };
        let fewer = set_no_new_privs(true)
            .map_err(io::Error::from)
            .and_then(|()| rights());
        let child = fewer.and_then(|()| spawn());
        // Without a receiver the child ends when the result is dropped.
        drop(sender.send(child));
    };
    thread::Builder::new()
        .name("starts-a-program".into())
        .spawn(start)?;
    let child = receiver
        .await
        .map_err(|_| io::Error::other("the starting thread broke off"))??;
    if let Some(pid) = child.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
        limit(pid);
    }
    Ok(child)
}

/// Limits a program. A limit is never raised above this process's own.
fn limit(pid: Pid) {
    let limits = [
        (Resource::Core, 0),
        (Resource::Fsize, MAX_FILE_BYTES),
        (Resource::Nofile, MAX_OPEN_FILES),
        (Resource::Nproc, MAX_USER_PROCESSES),
    ];
    for (resource, maximum) in limits {
        let own = getrlimit(resource);
        let maximum = own.maximum.map_or(maximum, |own| own.min(maximum));
        let current = own.current.map_or(maximum, |own| own.min(maximum));
        // A program that ended already needs no limit.
        let _ = prlimit(
            Some(pid),
            resource,
            Rlimit {
                current: Some(current),
                maximum: Some(maximum),
            },
        );
    }
}
