//! Runs a program as a process group that ends as a whole.
//!
//! The group is killed before the leader is reaped, so its number cannot belong to another group
//! yet. Processes that left the group have the step's tag in their environment, and are killed after
//! a stop and after a caller's command in a container. A confined program ends with what holds it
//! (`crate::confine`).

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::{
        fd::OwnedFd,
        unix::process::{CommandExt as _, ExitStatusExt as _},
    },
    pin::pin,
    process::{Command, ExitStatus, Stdio},
    sync::Arc,
};

use ars_resident::{daemon::RefusedHost, output::TIMEOUT_EXIT};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use tokio::{
    io::{Interest, unix::AsyncFd},
    process::Child,
};

use super::{
    kill::{LEFT_BEHIND_TIMEOUT, TAG, kill_tagged},
    launch::{Bounds, launch},
    program::{Input, Program, Sharing},
    shared,
    streams::Streams,
};
use crate::{
    confine::{Confined, Hold, Started},
    failure::{Context as _, Result},
    runtime::Runtime,
    settings::{Mode, READABLE_NAMES},
    stop::{Stop, Why},
    users,
};

/// A signal's exit code is this plus the signal number, as in shells.
const SIGNAL_BASE: i32 = 128;

/// How a program ended.
#[derive(Debug, Clone)]
pub(crate) struct EndedProcess {
    /// 128 + signal if a signal ended it, 124 after the timeout.
    pub(crate) exit_code: i32,
    /// The step had to stop.
    pub(crate) stopped: Option<Why>,
    /// Hosts that the proxy refused.
    pub(crate) refused: Vec<RefusedHost>,
}

/// Runs a program until it ends or the step must stop.
pub(crate) async fn run(
    runtime: &Runtime,
    program: Program,
    streams: &Streams,
    stop: &Stop,
) -> Result<EndedProcess> {
    stop.check()?;
    let name = program
        .words
        .first()
        .map(|word| word.to_string_lossy().into_owned())
        .unwrap_or_default();
    let tag = runtime.next_tag(program.user);
    let uid = users::uid(&runtime.settings.mode, program.user);
    let is_command = program.sharing == Sharing::WithTree;
    if let Some(ended) = shared::run(runtime, &program, streams, (stop, &tag)).await? {
        return Ok(ended);
    }
    let Prepared {
        command,
        confined,
        bounds,
        input,
    } = prepare(runtime, program, streams, &tag)?;
    let is_command_in_container = is_command && bounds.is_some();
    // The confinement may have a proxy, which the program uses until it ends.
    let Started { mut child, hold } = start(command, (confined.clone(), bounds), input)
        .await
        .context(&name)?;
    let group = Group(child.id().and_then(|id| Pid::from_raw(id.cast_signed())));
    let stopped = until_end(&mut child, &*hold, stop).await.context(&name)?;
    drop(group);
    drop(hold);
    // Other users of the container could read such a process's arguments.
    if stopped.is_some() || is_command_in_container {
        let kill = move || kill_tagged(&tag, uid, LEFT_BEHIND_TIMEOUT);
        let killed = tokio::task::spawn_blocking(kill).await;
        let killed = killed.map_err(io::Error::other).context("kill")?;
        if !killed.is_complete {
            tracing::warn!(uid, "processes that a command left behind still run");
        }
    }
    let status = child.wait().await.context(&name)?;
    let exit_code = if stopped == Some(Why::TimedOut) {
        TIMEOUT_EXIT
    } else {
        exit_code(status)
    };
    let refused = confined.map_or_else(Vec::new, |confined| confined.refused());
    Ok(EndedProcess {
        exit_code,
        stopped,
        refused,
    })
}

/// A program that is ready to start.
struct Prepared {
    command: Command,
    /// The confinement on a host.
    confined: Option<Arc<dyn Confined>>,
    /// The bounds in a container.
    bounds: Option<Bounds>,
    input: Option<File>,
}

/// Nothing lasts as long as the program.
struct Nothing;

impl Hold for Nothing {}

async fn start(
    mut command: Command,
    (confined, bounds): (Option<Arc<dyn Confined>>, Option<Bounds>),
    input: Option<File>,
) -> io::Result<Started> {
    if let Some(confined) = confined {
        return confined.start(command, input).await;
    }
    command.stdin(input.map_or_else(Stdio::null, Stdio::from));
    Ok(Started {
        child: launch(command, bounds).await?,
        hold: Box::new(Nothing),
    })
}

/// Waits until the program ended or must stop. Returns why it must.
async fn until_end(child: &mut Child, hold: &dyn Hold, stop: &Stop) -> io::Result<Option<Why>> {
    let mut watching = hold.watch();
    let mut is_watched = true;
    let (mut exited, mut stopped) = (pin!(exited(child)), pin!(stop.stopped()));
    loop {
        tokio::select! {
            () = &mut watching, if is_watched => is_watched = false,
            done = &mut exited => return done.map(|()| None),
            why = &mut stopped => return Ok(Some(why)),
        }
    }
}

fn prepare(runtime: &Runtime, program: Program, streams: &Streams, tag: &str) -> Result<Prepared> {
    let confined = match (&runtime.settings.mode, &program.place) {
        (Mode::Host(confine), Some(place)) => Some(confine.confine(place).context("confinement")?),
        (Mode::Host(_), None) | (Mode::Users, _) => None,
    };
    let mut command = match &confined {
        Some(confined) => confined.command(program.words.clone()),
        None => of_words(&program.words),
    };
    let more = confined
        .as_ref()
        .map_or_else(Vec::new, |confined| confined.variables());
    set_environment(&mut command, runtime, &program, (more, tag))?;
    command.stdout(streams.stdout.try_clone().context("stdout")?);
    command.stderr(streams.stderr.try_clone().context("stderr")?);
    if let Some(owner) =
        users::owner(&runtime.settings.mode, program.user).filter(|owner| owner.0 != 0)
    {
        command.uid(owner.0).gid(owner.0);
    }
    command.process_group(0);
    let bounds = match (&runtime.settings.mode, program.place) {
        (Mode::Users, Some(place)) => Some((place, runtime.streams()?)),
        (Mode::Users, None) | (Mode::Host(_), _) => None,
    };
    let input = match program.input {
        Input::Empty => None,
        Input::File(file) => Some(file),
    };
    Ok(Prepared {
        command,
        confined,
        bounds,
        input,
    })
}

/// Builds a command from words.
pub(super) fn of_words(words: &[OsString]) -> Command {
    let mut command = Command::new(words.first().map_or(OsStr::new(""), OsString::as_os_str));
    command.args(words.iter().skip(1));
    command
}

/// Gives a command a program's folder and exactly the program's variables, plus those from the
/// confinement.
pub(super) fn set_environment(
    command: &mut Command,
    runtime: &Runtime,
    program: &Program,
    (more, tag): (Vec<(OsString, OsString)>, &str),
) -> Result<()> {
    command.current_dir(&program.cwd).env_clear();
    command.envs(
        runtime
            .settings
            .environment
            .iter()
            .map(|(name, value)| (name, value)),
    );
    if program.place.is_none() {
        command.envs(
            runtime
                .settings
                .of_service
                .iter()
                .map(|(name, value)| (name, value)),
        );
    }
    command.envs(users::variables(
        users::home(&runtime.places, program.user)?,
        program.user,
    ));
    command.envs(
        program
            .place
            .iter()
            .map(|place| ("TMPDIR", &place.temporary)),
    );
    command.envs(READABLE_NAMES).envs(more);
    command
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_CEILING_DIRECTORIES", runtime.places.root());
    command
        .envs(program.variables.iter().map(|(name, value)| (name, value)))
        .env(TAG, tag);
    Ok(())
}

/// A process group that is killed when dropped.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            // A missing group means that all processes have exited.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

/// Waits for the program's exit without reaping it.
#[expect(
    deprecated,
    reason = "sound for an OwnedFd, which always is the one file it owns; its successor is unsafe to call"
)]
async fn exited(child: &mut Child) -> io::Result<()> {
    let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    match pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())) {
        Some(Ok(handle)) => AsyncFd::<OwnedFd>::with_interest(handle, Interest::READABLE)?
            .readable()
            .await
            .map(drop),
        Some(Err(_)) | None => child.wait().await.map(drop),
    }
}

fn exit_code(status: ExitStatus) -> i32 {
    status
        .code()
        .or_else(|| status.signal().map(|signal| SIGNAL_BASE + signal))
        .unwrap_or(SIGNAL_BASE)
}
