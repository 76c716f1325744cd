//! Starting a program with no rights beyond its user's, and with a lifeline: it ends when this process does.
//!
//! A program that an agent chose must not look into other processes, and must not work on in a tree that the next
//! process of the bot has taken over. Capabilities and the vow never to gain any belong to a thread and pass to what
//! it starts, so a thread that gives them up starts the program and ends. The lifeline is a pipe that only this
//! process can write to: a small process in the program's group reads it, and kills the group when it closes, by
//! whatever death. What leaves its group (`setsid`) is not reached: holding that is the container's work.

use std::{
    ffi::OsStr,
    io::{self, PipeWriter, Write as _},
    process::{Command, Stdio},
};

use ars_bot_ports::WorkspaceError;
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities, set_no_new_privs};
use tokio::{process::Child, runtime::Handle, sync::oneshot};

use super::{credentials::Credentials, process::infra};

/// Starts what reads the lifeline, then becomes the program, whose input is empty. The first two lines are
/// credentials: they wait in a pipe of their own for whoever the program lets read it.
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
/// What runs it.
pub(super) const SHELL: &str = "/bin/sh";
/// Of a program that is given none.
const NO_CREDENTIALS: &str = "\n\n";

/// The command that becomes this program.
pub(super) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(SHELL);
    command.args(["-c", SCRIPT, "ars"]).arg(program);
    command
}

/// Starts a command of `command`'s making. It lives no longer than the writer.
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
        // Whoever waited may be gone: the child then dies with the answer.
        drop(tell.send(give_up_rights().and_then(|()| spawn(command))));
    };
    std::thread::Builder::new().name("starts-a-program".into()).spawn(starting).map_err(failed)?;
    let broke_off = || WorkspaceError::Infra("the command could not be started: its thread broke off".into());
    let child = told.await.map_err(|_| broke_off())?.map_err(failed)?;
    // After the start: what is longer than the pipe holds is read meanwhile.
    lifeline.write_all(lines.as_bytes()).map_err(failed)?;
    Ok((child, lifeline))
}

/// The command is dropped here with this process's copies of the writing ends, so that reading can end.
fn spawn(command: Command) -> io::Result<Child> {
    tokio::process::Command::from(command).kill_on_drop(true).spawn()
}

/// For this thread and what it starts. With the vow even root's programs gain no capability that is given up here.
fn give_up_rights() -> io::Result<()> {
    let none = CapabilitySet::empty();
    set_no_new_privs(true)?;
    Ok(set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?)
}
