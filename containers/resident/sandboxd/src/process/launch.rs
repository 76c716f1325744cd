//! The start of a program, from a thread with fewer rights.
//!
//! Rights belong to a thread and are inherited. The thread lives as long as its program, because a sandbox may end with
//! the thread that started it.

use std::{
    io,
    process::Command,
    sync::{Arc, mpsc},
    thread,
};

use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
use rustix::thread::set_no_new_privs;
use tokio::{process::Child, runtime::Handle, sync::oneshot};

use crate::confine::Confined;

/// Largest file that a program may write: two of them do not fill the disk of the largest container.
const MAX_FILE_BYTES: u64 = 8 << 30;
/// Open files of one process.
const MAX_OPEN_FILES: u64 = 65_536;
/// Processes and threads of one user. Root has no such limit.
const MAX_USER_PROCESSES: u64 = 8_192;

/// A started program.
pub(super) struct Launched {
    pub(super) child: Child,
    /// Its thread ends with this value.
    _thread: mpsc::Sender<()>,
}

/// Starts a program. No program gains rights by its file, such as `sudo` does.
pub(super) async fn launch(command: Command, confined: Option<Arc<dyn Confined>>) -> io::Result<Launched> {
    let (sender, receiver) = oneshot::channel();
    let (end, ended) = mpsc::channel::<()>();
    let runtime = Handle::current();
    let start = move || {
        let _runtime = runtime.enter();
        let restricted = set_no_new_privs(true).map_err(io::Error::from).and_then(|()| match &confined {
            Some(confined) => confined.restrict_thread(),
            None => Ok(()),
        });
        let child =
            restricted.and_then(|()| tokio::process::Command::from(command).kill_on_drop(true).spawn());
        // Without a receiver the child ends when the result is dropped.
        drop(sender.send(child));
        // Ends with an error when the other end is dropped.
        let _ = ended.recv();
    };
    thread::Builder::new().name("starts-a-program".into()).spawn(start)?;
    let child = receiver.await.map_err(|_| io::Error::other("the starting thread broke off"))??;
    if let Some(pid) = child.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
        limit(pid);
    }
    Ok(Launched { child, _thread: end })
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
        let _ = prlimit(Some(pid), resource, Rlimit { current: Some(current), maximum: Some(maximum) });
    }
}
