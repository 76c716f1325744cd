//! A running session: how it starts, and the socket.

use std::{
    io,
    os::{
        fd::BorrowedFd,
        unix::{net::UnixStream, process::CommandExt as _},
    },
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use ars_bot_ports::WorkspaceError;
use tokio::{
    io::{Interest, unix::AsyncFd},
    time::timeout,
};

use super::lend::SessionSettings;
use crate::{
    egress::{GateKind, RequestLine, Way},
    sandbox::{Access, Answer, Frame, Reach, Wait, kill_message, receive, send_part},
    workspace::{
        capture::Capture,
        process::{Group, LINGER, drain, infra, pipe},
        start::{Input, Pair, Program, StartedProgram, command, start},
    },
};

/// Time in which a session starts, and in which it kills what a command left. Only a hang reaches it.
pub(super) const SESSION_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum bytes in the reason why a session does not start.
const REASON_MAX: usize = 1 << 10;

/// A session that is running.
pub(super) struct Live {
    socket: AsyncFd<UnixStream>,
    pub(super) line: Option<RequestLine>,
    _group: Group,
    _started: StartedProgram,
}

impl Live {
    /// Starts a session. `None` if this machine can have none.
    #[expect(
        deprecated,
        reason = "sound for a socket, which always is the one file it owns; its successor is unsafe to call"
    )]
    pub(super) async fn start(settings: &SessionSettings) -> Result<Option<Self>, WorkspaceError> {
        let failed = |error: io::Error| infra("the session", &error);
        let sandbox = &settings.sandbox;
        let mut line = None;
        let reach = match settings.gate {
            Some(GateKind::Namespace) => Reach::Proxy(Way::Session),
            Some(GateKind::Port) => {
                let made = RequestLine::on_this_machine().map_err(failed)?;
                Reach::Proxy(Way::Port(line.insert(made).port()))
            }
            None => Reach::new(None, sandbox.network(), true),
        };
        let access = Access {
            reach,
            entry: sandbox.entry(),
            ..settings.access.clone()
        };
        let Some(words) = sandbox.session_words(&access) else {
            return Ok(None);
        };
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let (said, errors) = pipe()?;
        let mut command = command(&words);
        // Each command brings its own variables and folder.
        command.env_clear().current_dir("/");
        command
            .stdout(Stdio::null())
            .stderr(errors)
            .process_group(0);
        let program = Program {
            command,
            access: Some(access),
            sandbox: Arc::clone(sandbox),
            group: settings.group.clone(),
        };
        let started = start(
            program,
            Input::Socket(Pair {
                ours: &ours,
                theirs,
            }),
        )
        .await?;
        let group = Group::new(&started.child);
        let socket = AsyncFd::with_interest(ours, Interest::READABLE | Interest::WRITABLE)
            .map_err(failed)?;
        let mut live = Self {
            socket,
            line,
            _group: group,
            _started: started,
        };
        let ready = timeout(SESSION_TIMEOUT, live.answer()).await;
        match ready.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok(Some(Frame {
                kind: Answer::Ready,
                mut descriptors,
                ..
            })) => {
                if let Some(listener) = descriptors.pop() {
                    live.line = Some(RequestLine::handed_over(listener).map_err(failed)?);
                }
                Ok(Some(live))
            }
            Ok(_) => {
                let mut reason = Capture::both_ends(REASON_MAX);
                let _ = timeout(LINGER, drain(said, &mut reason)).await;
                Err(WorkspaceError::Infra(format!(
                    "the session: {}",
                    reason.into_text().0.trim()
                )))
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Returns whether it waits for an order.
    pub(super) fn is_alive(&self) -> bool {
        let said = receive::<Answer>(self.socket.get_ref(), Wait::Never);
        said.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    pub(super) async fn send(
        &self,
        message: &[u8],
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let send = |sent: usize| {
            let descriptors = if sent == 0 { descriptors } else { &[] };
            let part = &message[sent..];
            self.socket.async_io(Interest::WRITABLE, move |socket| {
                send_part(socket, part, descriptors, Wait::Never)
            })
        };
        let mut sent = 0;
        while sent < message.len() {
            sent += send(sent).await?;
        }
        Ok(())
    }

    /// Waits for an answer. `None` if the program has ended.
    pub(super) async fn answer(&self) -> io::Result<Option<Frame<Answer>>> {
        self.socket
            .async_io(Interest::READABLE, |socket| receive(socket, Wait::Never))
            .await
    }

    /// Kills everything left from a command.
    pub(super) async fn kill(&self) -> io::Result<()> {
        self.send(&kill_message()?, &[]).await?;
        loop {
            match self.answer().await? {
                // It ended in the meantime.
                Some(Frame {
                    kind: Answer::Exited | Answer::Failed,
                    ..
                }) => {}
                Some(Frame {
                    kind: Answer::Killed,
                    ..
                }) => return Ok(()),
                Some(_) | None => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
    }
}
