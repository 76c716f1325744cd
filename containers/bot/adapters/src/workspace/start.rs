//! Starts a program with no rights beyond its user's, and with a lifeline: it ends when this process does.
//!
//! A program that an agent chose must not inspect other processes, and must not continue in a tree that the next
//! process of the bot has reclaimed. Capabilities and the promise never to gain any belong to a thread and are
//! inherited, so a thread drops them, starts the program and ends. The lifeline is a pipe that only this process can
//! write to: a small process in the program's group reads it and kills the group when it closes, however this process
//! ends. A process that leaves its group (`setsid`) is not reached; only a container confines it.

use std::{
    ffi::OsStr,
    io::{self, PipeWriter, Write as _},
    process::{Command, Stdio},
};

use ars_bot_ports::WorkspaceError;
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};
use tokio::{process::Child, runtime::Handle, sync::oneshot};

use super::{credentials::Credentials, process::infra};

/// Starts the reader of the lifeline, then becomes the program, with empty input. The first two lines are credentials,
/// which wait in a separate pipe.
const SCRIPT: &str = r#"IFS= read -r user
IFS= read -r password
exec 3<&0 </dev/null
/bin/sh -c 'read -r _; kill -s KILL 0' lifeline <&3 >/dev/null 2>&1 &
exec 3<&-
if [ -n "$user$password" ]; then exec 4<<END
username=$user
password=$password
END
fi
exec "$@""#;
/// The interpreter of the script.
pub(super) const SHELL: &str = "/bin/sh";
/// The lines of a program without credentials.
const NO_CREDENTIALS: &str = "\n\n";

/// Returns the command that becomes this program.
pub(super) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(SHELL);
    command.args(["-c", SCRIPT, "ars"]).arg(program);
    command
}

/// Starts a command made by `command`. It ends at the latest with the writer.
pub(super) async fn start(
    mut command: Command,
    credentials: Option<&Credentials>,
) -> Result<(Child, PipeWriter), WorkspaceError> {
    let failed = |error: io::Error| infra("the command could not be started", &error);
    let (reader, mut lifeline) = io::pipe().map_err(failed)?;
    let lines = credentials.map_or_else(|| NO_CREDENTIALS.to_owned(), Credentials::lines);
    command.stdin(Stdio::from(reader));
    let (tell, told) = oneshot::channel();
    let runtime = Handle::current();
    let starting = move || {
        let _runtime = runtime.enter();
        // If the receiver is gone, the child ends when the result is dropped.
        drop(tell.send(give_up_rights().and_then(|()| spawn(command))));
    };
    std::thread::Builder::new().name("starts-a-program".into()).spawn(starting).map_err(failed)?;
    let broke_off = || WorkspaceError::Infra("the command could not be started: its thread broke off".into());
    let child = told.await.map_err(|_| broke_off())?.map_err(failed)?;
    // After the start, because lines longer than the pipe's capacity need a reader.
    lifeline.write_all(lines.as_bytes()).map_err(failed)?;
    Ok((child, lifeline))
}

/// Spawns the command and drops it with this process's copies of the writing ends, so that readers see the end.
fn spawn(command: Command) -> io::Result<Child> {
    tokio::process::Command::from(command).kill_on_drop(true).spawn()
}

/// Drops capabilities for this thread and its children. With the promise, even programs of root gain none of them.
fn give_up_rights() -> io::Result<()> {
    let none = CapabilitySet::empty();
    set_no_new_privs(true)?;
    Ok(set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?)
}
