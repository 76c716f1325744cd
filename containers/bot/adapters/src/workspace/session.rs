//! The bot's side of a session: the sandbox in which the commands of a run are started.
//!
//! It is started with the run, or by its first command, and ends with the workspace. Commands that are in progress at
//! the same time as another one have a sandbox of their own, and so have all where no session can be had. Not here: the
//! program inside (`crate::sandbox`).

use std::{
    io,
    os::{
        fd::{AsFd as _, BorrowedFd},
        unix::{net::UnixStream, process::CommandExt as _},
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use ars_bot_ports::WorkspaceError;
use tokio::{
    io::{Interest, unix::AsyncFd},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{
    capture::Capture,
    process::{End, Ended, Group, LINGER, SIGNAL_BASE, TIMED_OUT, drain, infra, pipe},
    programs::Programs,
    start::{Input, Pair, Started, start},
};
use crate::{
    egress::{Gate, GateKind, Line, RunEgress, Way},
    sandbox::{Answer, Frame, Reach, RunGroup, Wait, kill_message, receive, send_part, start_message},
};

/// Time in which a session starts, and in which it kills what a command left. Only a hang reaches it.
const SESSION_TIMEOUT: Duration = Duration::from_secs(20);
/// Bytes of the reason why a session does not start.
const REASON_MAX: usize = 1 << 10;
/// The number of SIGKILL.
const KILL: i32 = 9;

/// Starts that fail before commands go on without a session.
const FAILURES_MAX: u32 = 3;

/// The session of a workspace, and what it needs to start.
pub(super) struct Session {
    pub(super) programs: Arc<Programs>,
    /// The workspace's own folder.
    pub(super) place: PathBuf,
    /// The control group of the run.
    pub(super) group: Option<Arc<RunGroup>>,
    starting: tokio::sync::Mutex<u32>,
    slot: Mutex<Slot>,
}

#[derive(Default)]
enum Slot {
    #[default]
    Empty,
    Idle(Box<Live>),
    /// A command has it.
    Lent,
    /// It cannot be had.
    Impossible,
}

/// A session that is running.
struct Live {
    socket: AsyncFd<UnixStream>,
    line: Option<Line>,
    _group: Group,
    _started: Started,
}

/// A session that a command has. It ends if the command breaks off.
pub(super) struct Lent<'a> {
    session: &'a Session,
    live: Option<Box<Live>>,
    is_over: bool,
}

impl Session {
    /// Returns a session that is not started yet.
    pub(super) fn new(programs: &Arc<Programs>, place: &Path, group: Option<Arc<RunGroup>>) -> Self {
        let (starting, slot) = (tokio::sync::Mutex::default(), Mutex::default());
        Self { programs: Arc::clone(programs), place: place.to_owned(), group, starting, slot }
    }

    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the session for one command, which starts it if need be.
    /// `None` if the command needs a sandbox of its own.
    pub(super) async fn lend(&self) -> Option<Lent<'_>> {
        let mut failures = self.starting.lock().await;
        let taken = {
            let mut slot = self.slot();
            match &mut *slot {
                Slot::Lent | Slot::Impossible => return None,
                Slot::Empty | Slot::Idle(_) => std::mem::replace(&mut *slot, Slot::Lent),
            }
        };
        let mut lent = Lent { session: self, live: None, is_over: true };
        lent.live = match taken {
            // One that was killed meanwhile is replaced.
            Slot::Idle(live) if live.is_alive() => Some(live),
            _ => match Live::start(self).await {
                Ok(Some(live)) => Some(Box::new(live)),
                Ok(None) => {
                    *failures = FAILURES_MAX;
                    None
                }
                Err(error) => {
                    tracing::warn!(%error, "the sandbox of a run did not start: its next command has its own");
                    *failures += 1;
                    None
                }
            },
        };
        if lent.live.is_some() {
            return Some(lent);
        }
        drop(lent);
        if *failures >= FAILURES_MAX {
            *self.slot() = Slot::Impossible;
        }
        None
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let kept = self.live.take().filter(|_| self.is_over);
        *self.session.slot() = kept.map_or(Slot::Empty, Slot::Idle);
    }
}

impl Live {
    #[expect(
        deprecated,
        reason = "sound for a socket, which always is the one file it owns; its successor is unsafe to call"
    )]
    async fn start(parts: &Session) -> Result<Option<Self>, WorkspaceError> {
        let failed = |error: io::Error| infra("the session", &error);
        let mut line = None;
        let reach = match parts.programs.gate() {
            Some(GateKind::Namespace) => Reach::Proxy(Way::Session),
            Some(GateKind::Port) => {
                let made = Line::on_this_machine().map_err(failed)?;
                Reach::Proxy(Way::Port(line.insert(made).port()))
            }
            None => Reach::of(None, parts.programs.sandbox.network(), true),
        };
        let Some(mut program) = parts.programs.of_session(&parts.place, reach) else { return Ok(None) };
        program.group.clone_from(&parts.group);
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let (said, errors) = pipe()?;
        program.command.current_dir(&parts.place).stdout(Stdio::null()).stderr(errors).process_group(0);
        let started = start(program, Input::Socket(Pair { ours: &ours, theirs })).await?;
        let group = Group::of(&started.child);
        let socket = AsyncFd::with_interest(ours, Interest::READABLE | Interest::WRITABLE).map_err(failed)?;
        let mut live = Self { socket, line, _group: group, _started: started };
        let ready = timeout(SESSION_TIMEOUT, live.answer()).await;
        match ready.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok(Some(Frame { kind: Answer::Ready, mut descriptors, .. })) => {
                if let Some(listener) = descriptors.pop() {
                    live.line = Some(Line::handed_over(listener).map_err(failed)?);
                }
                Ok(Some(live))
            }
            Ok(_) => {
                let mut reason = Capture::both_ends(REASON_MAX);
                let _ = timeout(LINGER, drain(said, &mut reason)).await;
                Err(WorkspaceError::Infra(format!("the session: {}", reason.into_text().0.trim())))
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Returns whether it waits for an order.
    fn is_alive(&self) -> bool {
        let said = receive::<Answer>(self.socket.get_ref(), Wait::Never);
        said.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    async fn send(&self, message: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let send = |sent: usize| {
            let descriptors = if sent == 0 { descriptors } else { &[] };
            let part = &message[sent..];
            self.socket
                .async_io(Interest::WRITABLE, move |socket| send_part(socket, part, descriptors, Wait::Never))
        };
        let mut sent = 0;
        while sent < message.len() {
            sent += send(sent).await?;
        }
        Ok(())
    }

    /// Waits for an answer. `None` if the program has ended.
    async fn answer(&self) -> io::Result<Option<Frame<Answer>>> {
        self.socket.async_io(Interest::READABLE, |socket| receive(socket, Wait::Never)).await
    }
}

impl Lent<'_> {
    fn live(&self) -> Result<&Live, WorkspaceError> {
        self.live.as_deref().ok_or_else(|| WorkspaceError::Infra("the session has ended".into()))
    }

    /// Opens the proxy of a command, if commands have one.
    pub(super) fn gate(&self, egress: &Arc<RunEgress>) -> Result<Option<Gate>, WorkspaceError> {
        let opened = self.live()?.line.as_ref().map(|line| Gate::of_session(egress, line)).transpose();
        opened.map_err(|error| infra("the egress proxy", &error))
    }

    /// Runs a command until it ends, times out, or is cancelled.
    /// Standard error shares the pipe of standard output. `None` if the session ended before the command began.
    pub(super) async fn run(
        mut self,
        command: &Command,
        limit: Duration,
        output: &mut Capture,
        cancel: &CancellationToken,
    ) -> Result<Option<Ended>, WorkspaceError> {
        let lost = |error: io::Error| infra("the session", &error);
        self.is_over = false;
        let (out, writer) = pipe()?;
        let live = self.live()?;
        let membership = self.session.group.as_ref().and_then(RunGroup::attend);
        let message = start_message(command).map_err(lost)?;
        match live.send(&message, &[writer.as_fd(), writer.as_fd()]).await {
            Err(error) if has_not_begun(&error) => return Ok(None),
            sent => sent.map_err(lost)?,
        }
        drop(writer);
        let mut reading = std::pin::pin!(drain(out, output));
        let mut read_all = false;
        let end = {
            let mut exited = std::pin::pin!(live.answer());
            let mut alarm = std::pin::pin!(tokio::time::sleep(limit));
            let mut watching = std::pin::pin!(async {
                match &membership {
                    Some(membership) => membership.watch().await,
                    None => std::future::pending().await,
                }
            });
            let mut is_watched = true;
            loop {
                tokio::select! {
                    () = &mut reading, if !read_all => read_all = true,
                    () = &mut watching, if is_watched => is_watched = false,
                    answer = &mut exited => match answer {
                        Err(error) if has_not_begun(&error) => return Ok(None),
                        answer => break Ok(answer.map_err(lost)?),
                    },
                    () = &mut alarm => break Err(End::TimedOut),
                    () = cancel.cancelled() => break Err(End::Cancelled),
                }
            }
        };
        if !read_all && end.is_ok() {
            read_all = timeout(LINGER, &mut reading).await.is_ok();
        }
        let is_killed = timeout(SESSION_TIMEOUT, live.kill()).await.is_ok_and(|killed| killed.is_ok());
        let reached = match membership {
            Some(membership) => membership.end().await,
            None => Vec::new(),
        };
        if !read_all && !matches!(end, Err(End::Cancelled)) {
            // The last output is still in the pipe.
            let _ = timeout(LINGER, &mut reading).await;
        }
        let has_failed = matches!(&end, Ok(Some(Frame { kind: Answer::Failed, .. })));
        self.is_over = is_killed && !has_failed;
        let ended = match end {
            Ok(Some(Frame { kind: Answer::Exited, body, .. })) => {
                let code = std::str::from_utf8(&body).ok().and_then(|code| code.parse().ok());
                Ok(Ended { exit_code: code.unwrap_or(SIGNAL_BASE), timed_out: false, reached })
            }
            Ok(Some(Frame { kind: Answer::Failed, body, .. })) => {
                let reason = String::from_utf8_lossy(&body).into_owned();
                Err(infra("the command could not be started", &io::Error::other(reason)))
            }
            // Everything in the sandbox was killed, such as at a limit of the run.
            Ok(_) => Ok(Ended { exit_code: SIGNAL_BASE + KILL, timed_out: false, reached }),
            Err(End::TimedOut) => Ok(Ended { exit_code: TIMED_OUT, timed_out: true, reached }),
            Err(_) => Err(WorkspaceError::Cancelled),
        };
        ended.map(Some)
    }
}

/// Returns whether a broken connection means that the order was not read.
fn has_not_begun(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe)
}

impl Live {
    /// Kills what is left of a command.
    async fn kill(&self) -> io::Result<()> {
        self.send(&kill_message()?, &[]).await?;
        loop {
            match self.answer().await? {
                // It ended in the meantime.
                Some(Frame { kind: Answer::Exited | Answer::Failed, .. }) => {}
                Some(Frame { kind: Answer::Killed, .. }) => return Ok(()),
                Some(_) | None => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
    }
}
