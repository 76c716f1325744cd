//! Starts a program in its sandbox, and with a lifeline: it ends when this process does.
//!
//! A program that an agent chose must not inspect other processes, and must not continue in a tree that the next
//! process of the bot has reclaimed. Rights belong to a thread and are inherited, so a thread gives them up and starts
//! the program. The thread then waits for the end of the program and kills what the program left behind: it can signal
//! the processes of its own domain, and no others. The lifeline is a pipe that only this process can write to: a small
//! process in the program's group reads it and kills the group when it closes, however this process ends.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, PipeWriter, Write as _},
    os::{fd::OwnedFd, unix::net::UnixStream},
    process::{Command, Stdio},
    sync::{Arc, mpsc},
    thread,
};

use ars_bot_ports::WorkspaceError;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{process::Child, runtime::Handle, sync::oneshot};

use super::{credentials::Credentials, process::infra};
use crate::sandbox::{
    Access, Domain, Entrance, Membership, RunGroup, Sandbox, give_up_capabilities, limit,
};

/// Starts the reader of the lifeline, then becomes the program, with empty input.
/// The first two lines are credentials, which wait in a separate pipe. A text in the third one means that the rest is the
/// program's input; it then has no lifeline, but its input ends.
const SCRIPT: &str = r#"IFS= read -r user
IFS= read -r password
IFS= read -r input
[ -z "$input" ] || exec "$@"
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
/// The line of a program with input.
const WITH_INPUT: &str = "input\n";
/// The line of a program with empty input.
const NO_INPUT: &str = "\n";

/// A program before its start.
pub(crate) struct Program {
    pub(crate) command: Command,
    /// Its rights; `None` for a program that the service trusts.
    pub(crate) access: Option<Access>,
    pub(crate) sandbox: Arc<Sandbox>,
    /// The control group of its run, if it belongs to one and the machine has groups.
    pub(crate) group: Option<Arc<RunGroup>>,
}

/// Input of a program.
pub(crate) enum Input<'a> {
    /// Nothing.
    Empty,
    /// Nothing, and credentials in a pipe of their own.
    Credentials(&'a Credentials),
    /// A file from its current position.
    File(File),
    /// A socket of the service. The program reads it itself, and ends when it closes.
    Socket(Pair<'a>),
}

/// The two ends of a socket.
pub(crate) struct Pair<'a> {
    pub(crate) ours: &'a UnixStream,
    pub(crate) theirs: UnixStream,
}

/// A started program.
pub(crate) struct StartedProgram {
    pub(crate) child: Child,
    /// The program's group is killed when this is dropped. A program with input has none.
    pub(crate) lifeline: Option<PipeWriter>,
    /// The rest of the program is killed when this is dropped.
    pub(crate) keeper: Keeper,
    /// What the program left in the control group of its run is killed when this is dropped.
    pub(crate) membership: Option<Membership>,
}

/// Ends the thread that started a program.
pub(crate) struct Keeper {
    _end: mpsc::Sender<()>,
}

/// Returns the command that becomes the program of these words.
pub(crate) fn command(words: &[impl AsRef<OsStr>]) -> Command {
    let mut command = Command::new(SHELL);
    command.args(["-c", SCRIPT, "ars"]).args(words);
    command
}

/// Starts a program. It ends at the latest with the returned value.
pub(crate) async fn start(
    program: Program,
    input: Input<'_>,
) -> Result<StartedProgram, WorkspaceError> {
    let failed = |error: io::Error| infra("the command could not be started", &error);
    let (reader, lifeline) = io::pipe().map_err(failed)?;
    let (mut file, mut socket) = (None, None);
    let lines = match input {
        Input::Empty => format!("{NO_CREDENTIALS}{NO_INPUT}"),
        Input::Credentials(credentials) => format!("{}{NO_INPUT}", credentials.lines()),
        Input::File(input) => {
            file = Some(input);
            format!("{NO_CREDENTIALS}{WITH_INPUT}")
        }
        Input::Socket(pair) => {
            socket = Some(pair);
            format!("{NO_CREDENTIALS}{WITH_INPUT}")
        }
    };
    let Program {
        mut command,
        access,
        sandbox,
        group,
    } = program;
    let ours = match socket {
        Some(Pair { ours, theirs }) => {
            command.stdin(Stdio::from(OwnedFd::from(theirs)));
            Some(ours)
        }
        None => {
            command.stdin(Stdio::from(reader));
            None
        }
    };
    let (sender, receiver) = oneshot::channel();
    let (end, ended) = mpsc::channel();
    let runtime = Handle::current();
    let own = group.clone();
    let starting = move || {
        let _runtime = runtime.enter();
        let entrance = own.as_ref().and_then(RunGroup::entrance);
        let confined = match &access {
            Some(access) => sandbox.confine_this_thread(access),
            None => give_up_capabilities().map(|()| Domain::User),
        };
        let domain = confined.as_ref().map_or(Domain::User, |domain| *domain);
        // If the receiver is gone, the child ends when the result is dropped.
        drop(sender.send(confined.and_then(|_| spawn(command, entrance))));
        // The program may outlive its run, which ends with its group.
        drop(own);
        // Also keeps the parent of the child alive, with which bubblewrap ends.
        let _ = ended.recv();
        if domain == Domain::Own {
            kill_own_domain();
        }
    };
    thread::Builder::new()
        .name("starts-a-program".into())
        .spawn(starting)
        .map_err(failed)?;
    let broke_off =
        || WorkspaceError::Infra("the command could not be started: its thread broke off".into());
    let (child, mut membership) = receiver.await.map_err(|_| broke_off())?.map_err(failed)?;
    if let Some(pid) = child.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
        limit(pid).await.map_err(failed)?;
        // The shell waits for its first line and has started nothing, so the whole program is in the group.
        if let Some(group) = group.filter(|_| membership.is_none()) {
            membership = Some(group.join(pid).await.map_err(failed)?);
        }
    }
    // After the start, because lines longer than the pipe's capacity need a reader.
    let lifeline = write_input(lifeline, ours, file, &lines).map_err(failed)?;
    Ok(StartedProgram {
        child,
        lifeline,
        keeper: Keeper { _end: end },
        membership,
    })
}

/// Writes the first lines, and a file behind them.
/// Returns the pipe if it is still the program's lifeline.
fn write_input(
    mut lifeline: PipeWriter,
    socket: Option<&UnixStream>,
    file: Option<File>,
    lines: &str,
) -> io::Result<Option<PipeWriter>> {
    if let Some(mut socket) = socket {
        socket.write_all(lines.as_bytes())?;
        return Ok(None);
    }
    lifeline.write_all(lines.as_bytes())?;
    let Some(file) = file else {
        return Ok(Some(lifeline));
    };
    feed(file, lifeline)?;
    Ok(None)
}

/// Writes a file into a pipe, at most until the pipe has no reader any more.
fn feed(mut file: File, mut pipe: PipeWriter) -> io::Result<()> {
    let feeding = move || {
        // A program may end before it has read everything.
        let _ = io::copy(&mut file, &mut pipe);
    };
    thread::Builder::new()
        .name("feeds-a-program".into())
        .spawn(feeding)
        .map(drop)
}

/// Spawns the command, in the group of its run if there is a way.
/// Drops this process's writing ends, so that readers see the end.
fn spawn(
    command: Command,
    entrance: Option<Entrance<'_>>,
) -> io::Result<(Child, Option<Membership>)> {
    let mut command = tokio::process::Command::from(command);
    command.kill_on_drop(true);
    match entrance.map(|entrance| entrance.start(|| command.spawn())) {
        Some(Ok((child, membership))) => return Ok((child, Some(membership))),
        // It is full, or cannot be entered. The program joins after its start.
        Some(Err(error)) => {
            tracing::debug!(%error, "a program was not started in its control group");
        }
        None => {}
    }
    Ok((command.spawn()?, None))
}

/// Kills every process of this thread's domain, also those that left their group and session.
fn kill_own_domain() {
    // To the kernel the group of init means every process that this thread may signal. The domain allows its own only,
    // and the call spares the caller's process.
    let _ = kill_process_group(Pid::INIT, Signal::KILL);
}
