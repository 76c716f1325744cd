//! Runs a program as a process group that ends as a whole.
//!
//! The group is killed before its leader is reaped, so its number cannot belong to another group yet. A step that
//! stops also kills the processes that left the group: they have the tag of the step in their environment.

use std::{
    ffi::OsString,
    io,
    os::{
        fd::OwnedFd,
        unix::process::{CommandExt as _, ExitStatusExt as _},
    },
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
    kill::{TAG, kill_tagged},
    launch::launch,
    program::{Input, Program},
    streams::Streams,
};
use crate::{
    confine::Confined,
    failure::{Context as _, Result},
    runtime::Runtime,
    settings::Mode,
    stop::{Stop, Why},
    users,
};

/// The exit code of a signal is this plus its number, as in shells.
const SIGNAL_BASE: i32 = 128;

/// The end of a program.
#[derive(Debug, Clone)]
pub(crate) struct Ended {
    /// 128 + signal if a signal ended it, 124 after the timeout.
    pub(crate) exit_code: i32,
    /// The step had to stop.
    pub(crate) stopped: Option<Why>,
    /// Hosts that its proxy refused.
    pub(crate) refused: Vec<RefusedHost>,
}

/// Runs a program until it ends or the step must stop.
pub(crate) async fn run(
    runtime: &Runtime,
    program: Program,
    streams: &Streams,
    stop: &Stop,
) -> Result<Ended> {
    stop.check()?;
    let name = program.words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    let tag = runtime.next_tag(program.user);
    let (command, confined) = prepare(runtime, program, streams, &tag)?;
    // The confinement may have a proxy, which the program uses until its end.
    let mut launched = launch(command, confined.clone()).await.context(&name)?;
    let group = Group(launched.child.id().and_then(|id| Pid::from_raw(id.cast_signed())));
    let stopped = tokio::select! {
        done = exited(&mut launched.child) => { done.context(&name)?; None }
        why = stop.stopped() => Some(why),
    };
    drop(group);
    if stopped.is_some() {
        let killed = tokio::task::spawn_blocking(move || kill_tagged(&tag)).await;
        killed.map_err(io::Error::other).context("kill")?;
    }
    let status = launched.child.wait().await.context(&name)?;
    let exit_code = if stopped == Some(Why::TimedOut) { TIMEOUT_EXIT } else { exit_code(status) };
    let refused = confined.map_or_else(Vec::new, |confined| confined.refused());
    Ok(Ended { exit_code, stopped, refused })
}

fn prepare(
    runtime: &Runtime,
    program: Program,
    streams: &Streams,
    tag: &str,
) -> Result<(Command, Option<Arc<dyn Confined>>)> {
    let confined = match (&runtime.settings.mode, &program.place) {
        (Mode::Host(confine), Some(place)) => Some(confine.confine(place).context("confinement")?),
        (Mode::Host(_), None) | (Mode::Users, _) => None,
    };
    let mut words: Vec<OsString> = confined.as_ref().map_or_else(Vec::new, |confined| confined.words());
    words.extend(program.words);
    let mut command = Command::new(words.remove(0));
    command.args(words).current_dir(&program.cwd).env_clear();
    command.envs(runtime.settings.environment.iter().map(|(name, value)| (name, value)));
    command.envs(users::variables(users::home(&runtime.places, program.user)?, program.user));
    if let (Some(confined), Some(place)) = (&confined, &program.place) {
        command.env("TMPDIR", &place.temporary).envs(confined.variables());
    }
    command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_CEILING_DIRECTORIES", runtime.places.root());
    command.envs(program.variables).env(TAG, tag);
    command.stdin(match program.input {
        Input::Empty => Stdio::null(),
        Input::File(file) => file.into(),
    });
    command.stdout(streams.stdout.try_clone().context("stdout")?);
    command.stderr(streams.stderr.try_clone().context("stderr")?);
    if let Some(owner) = users::owner(&runtime.settings.mode, program.user).filter(|owner| owner.0 != 0) {
        command.uid(owner.0).gid(owner.0);
    }
    command.process_group(0);
    Ok((command, confined))
}

/// A process group that is killed when dropped.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            // A missing group means that all of its processes have exited.
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
        Some(Ok(handle)) => {
            AsyncFd::<OwnedFd>::with_interest(handle, Interest::READABLE)?.readable().await.map(drop)
        }
        Some(Err(_)) | None => child.wait().await.map(drop),
    }
}

fn exit_code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| SIGNAL_BASE + signal)).unwrap_or(SIGNAL_BASE)
}
