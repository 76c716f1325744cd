//! Table and caller commands: the only text that reaches a shell.

use ars_resident::daemon::{Answer, CommandEnd, FailureKind, StepFailure};
use ars_resident::names::{ExecCommand, TableCommand};
use ars_resident::output::{HEAD_BYTES_MAX, NO_SPACE_EXIT};
use ars_resident::plan::{User, shell_words};

use super::home;
use crate::{
    failure::{Context as _, Result},
    process::{EndedProcess, Heads, Input, Program, Sharing, Streams, run},
    settings::Mode,
    step::StepContext,
    stop::Why,
    users,
};

/// Why a command did not run.
pub(super) enum ShellError {
    /// The disk is full. The command counts as ended, with a separate exit code.
    NoSpace(CommandEnd),
    Failed(StepFailure),
}

impl ShellError {
    fn into_answer(self) -> Result<Answer> {
        match self {
            Self::NoSpace(end) => Ok(Answer::Command(end)),
            Self::Failed(failure) => Err(failure),
        }
    }
}

impl<E: Into<StepFailure>> From<E> for ShellError {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Runs a table command. A long stream returns the beginning and end.
pub(super) async fn table(
    step: &StepContext<'_>,
    user: User,
    command: &TableCommand,
    cwd: &str,
) -> Result<Answer> {
    let ran = match user {
        User::BUILD => build(step, command, cwd).await,
        _ => shell(step, user, command.as_str(), cwd, Sharing::Alone).await,
    };
    let (ended, streams) = match ran {
        Ok(done) => done,
        Err(error) => return error.into_answer(),
    };
    finish(step, ended, &streams.both_ends(HEAD_BYTES_MAX))
}

/// Runs a caller's command. Returns the stream heads.
pub(super) async fn exec(
    step: &StepContext<'_>,
    user: User,
    command: &ExecCommand,
    cwd: &str,
    head_bytes: usize,
) -> Result<Answer> {
    let (ended, streams) = match shell(step, user, command.as_str(), cwd, Sharing::WithTree).await {
        Ok(done) => done,
        Err(error) => return error.into_answer(),
    };
    finish(step, ended, &streams.heads(head_bytes.min(HEAD_BYTES_MAX)))
}

/// Starts the sandbox for a tree's commands in the background, on a host.
pub(super) fn prepare(step: &StepContext<'_>, tree: &str) {
    let Mode::Host(confine) = &step.runtime.settings.mode else {
        return;
    };
    let place = || {
        let user = User::Unprivileged(step.tree_user()?);
        step.runtime
            .place(user, &step.runtime.places.real(tree)?, true)
    };
    // Without it the first command starts the sandbox.
    if let Ok(place) = place() {
        confine.prepare_shared(&place);
    }
}

/// Runs the build user's command in a shell, in an empty home. No process is left after it.
pub(super) async fn build(
    step: &StepContext<'_>,
    command: &TableCommand,
    cwd: &str,
) -> std::result::Result<(EndedProcess, Streams), ShellError> {
    home::enter_build(step).await?;
    let ran = shell(step, User::BUILD, command.as_str(), cwd, Sharing::Alone).await;
    home::leave_build(step).await?;
    ran
}

/// Runs a command in a shell. A full disk ends it before it starts, with a separate exit code.
pub(super) async fn shell(
    step: &StepContext<'_>,
    user: User,
    command: &str,
    cwd: &str,
    sharing: Sharing,
) -> std::result::Result<(EndedProcess, Streams), ShellError> {
    let runtime = step.runtime;
    // Also refuses a folder that is a link or does not exist.
    drop(runtime.places.open_usable_dir(cwd)?);
    let folder = runtime.places.real(cwd)?;
    let created = Streams::create(
        &runtime.streams()?,
        users::owner(&runtime.settings.mode, user),
    );
    let streams = match created.context("streams") {
        Ok(streams) => streams,
        Err(failure) if failure.kind == FailureKind::NoSpace => {
            return Err(ShellError::NoSpace(CommandEnd {
                stdout: String::new(),
                stderr: failure.stderr,
                exit_code: NO_SPACE_EXIT,
                timed_out: false,
                free_kib: runtime.free_kib(),
                refused: Vec::new(),
            }));
        }
        Err(failure) => return Err(failure.into()),
    };
    let program = Program {
        words: vec![runtime.programs.shell.clone().into()],
        cwd: folder.clone(),
        user,
        variables: Vec::new(),
        input: Input::Empty,
        place: Some(runtime.place(user, &folder, true)?),
        sharing,
    };
    let program = program.args(shell_words(command));
    let ended = run(runtime, program, &streams, &step.stop).await?;
    Ok((ended, streams))
}

fn finish(step: &StepContext<'_>, ended: EndedProcess, heads: &Heads) -> Result<Answer> {
    let stopped = ended.stopped;
    let end = command_end(step, ended, heads);
    match stopped {
        Some(Why::Cancelled) => Err(StepFailure {
            exit_code: Some(end.exit_code),
            stdout: end.stdout,
            stderr: end.stderr,
            ..StepFailure::from(Why::Cancelled)
        }),
        Some(Why::TimedOut) | None => Ok(Answer::Command(end)),
    }
}

/// Returns a command's end with the streams.
pub(super) fn command_end(
    step: &StepContext<'_>,
    ended: EndedProcess,
    heads: &Heads,
) -> CommandEnd {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    CommandEnd {
        stdout: text(&heads.stdout),
        stderr: text(&heads.stderr),
        exit_code: ended.exit_code,
        timed_out: ended.stopped == Some(Why::TimedOut),
        free_kib: if ended.exit_code == 0 {
            None
        } else {
            step.runtime.free_kib()
        },
        refused: ended.refused,
    }
}
