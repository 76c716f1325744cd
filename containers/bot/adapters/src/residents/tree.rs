//! One thread's tree on a resident: calls, and the handling of a rejected one.
//!
//! A call that needs an attach is repeated once after it. A command is never repeated, because it may have run. A
//! container that was replaced twice without a success between is a failure.

mod attach;

use std::{
    mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use ars_bot_ports::{Residents, ResidentsError, WorkspaceError};
use ars_resident::{
    names::{ExecCommand, StrictThreadKey},
    refusal::{Refusal, Token},
    wire::{AttachResponse, DetachRequest, ExecRequest, ExecResponse},
};
use ars_types::ThreadKey;
use futures::future::BoxFuture;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    bindings::{Note, Notes},
    script::{self, Head},
};

/// Timeout of a script of the service.
pub(super) const SCRIPT_TIMEOUT: Duration = Duration::from_secs(60);
/// Waits before a call without free capacity, or with a busy mirror, is repeated; the last one stays.
const BUSY_WAITS: [Duration; 3] = [
    Duration::from_secs(10),
    Duration::from_secs(20),
    Duration::from_secs(30),
];
/// Longest time that a call waits for free capacity.
const BUSY_MAX: Duration = Duration::from_secs(300);
/// Replacements of a container in a row that end a run's use of it.
const REPLACEMENTS_MAX: u32 = 2;
/// Characters of a commit in texts.
const SHORT_SHA: usize = 7;
/// The step of an attach that makes a tree.
const MADE: &str = "worktree-clone";

/// A thread's tree on a resident.
pub(super) struct ResidentTree {
    pub(super) residents: Arc<dyn Residents>,
    pub(super) notes: Notes,
    pub(super) key: ThreadKey,
    pub(super) thread: StrictThreadKey,
    /// A viewer attaches nothing.
    pub(super) may_attach: bool,
    note: Mutex<Note>,
    replacements: AtomicU32,
    /// A command may run on, because its caller did not wait for its end.
    has_abandoned: AtomicBool,
    /// Texts for the model that precede the output of the next command.
    notices: Mutex<Vec<String>>,
}

/// The end of a command.
pub(super) enum Executed {
    /// It ended.
    Ended(ExecResponse),
    /// Its container was replaced, so its effects are unknown.
    Replaced,
}

/// Why a call on the tree failed.
pub(super) enum TreeError {
    /// The resident rejects the call.
    Refused(Box<Refusal>),
    Failed(WorkspaceError),
}

impl TreeError {
    /// Returns whether the resident can serve the call after another attach.
    pub(super) fn needs_attach(&self) -> bool {
        match self {
            Self::Refused(refusal) => {
                let token = refusal.token();
                token.needs() == Some("attach") || token == Token::RuntimeReplaced
            }
            Self::Failed(_) => false,
        }
    }
}

impl From<ResidentsError> for TreeError {
    fn from(error: ResidentsError) -> Self {
        match error {
            ResidentsError::Refused(refusal) => Self::Refused(refusal),
            error => Self::Failed(of_error(&error)),
        }
    }
}

impl From<WorkspaceError> for TreeError {
    fn from(error: WorkspaceError) -> Self {
        Self::Failed(error)
    }
}

impl From<TreeError> for WorkspaceError {
    fn from(error: TreeError) -> Self {
        match error {
            TreeError::Refused(refusal) => of_refusal(&refusal),
            TreeError::Failed(error) => error,
        }
    }
}

/// Whether a call may be repeated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeat {
    Never,
    AfterReplacement,
}

impl ResidentTree {
    pub(super) fn new(
        residents: Arc<dyn Residents>,
        notes: Notes,
        key: ThreadKey,
        note: Note,
        may_attach: bool,
    ) -> Self {
        Self {
            residents,
            notes,
            thread: StrictThreadKey::from_thread_key(&key),
            key,
            may_attach,
            note: Mutex::new(note),
            replacements: AtomicU32::new(0),
            has_abandoned: AtomicBool::new(false),
            notices: Mutex::default(),
        }
    }

    /// Returns the note about the tree.
    pub(super) fn note(&self) -> Note {
        lock(&self.note).clone()
    }

    /// Takes the texts that the model has not read yet.
    pub(super) fn take_notices(&self) -> Vec<String> {
        mem::take(&mut lock(&self.notices))
    }

    /// Runs a command of the model.
    pub(super) async fn exec(
        &self,
        command: &str,
        timeout: Duration,
        cancel: &CancellationToken,
    ) -> Result<Executed, WorkspaceError> {
        let ended = self.command(command, timeout, Repeat::Never, cancel).await;
        if matches!(ended, Err(TreeError::Failed(WorkspaceError::Cancelled))) {
            self.has_abandoned.store(true, Ordering::Relaxed);
        }
        Ok(match ended? {
            Some(answer) => Executed::Ended(answer),
            None => Executed::Replaced,
        })
    }

    /// Runs a script of the service, which only reads or can be repeated.
    /// Returns at most `limit` bytes of its output, and whether there were more.
    pub(super) async fn script(
        &self,
        script: &str,
        limit: usize,
        cancel: &CancellationToken,
    ) -> Result<(Head, Vec<u8>, bool), WorkspaceError> {
        let unreadable =
            || WorkspaceError::Infra("the resident's answer is not readable".to_owned());
        let first = self.text(&script::captured(script, limit), cancel).await?;
        let head = Head::parse(&first).ok_or_else(unreadable)?;
        let mut bytes = head.piece.clone();
        while (bytes.len() as u64) < head.size {
            let next = script::next_piece(&head.file, bytes.len() as u64, head.size);
            let piece = script::piece(&self.text(&next, cancel).await?).ok_or_else(unreadable)?;
            if piece.is_empty() {
                return Err(unreadable());
            }
            bytes.extend(piece);
        }
        let (output, is_cut) = script::decompress(&bytes, limit).ok_or_else(unreadable)?;
        Ok((head, output, is_cut))
    }

    /// Runs a script with a short output.
    pub(super) async fn text(
        &self,
        script: &str,
        cancel: &CancellationToken,
    ) -> Result<String, TreeError> {
        match self
            .command(script, SCRIPT_TIMEOUT, Repeat::AfterReplacement, cancel)
            .await?
        {
            Some(answer) if answer.exit_code == 0 => Ok(answer.stdout),
            Some(answer) => {
                let text = ars_events::clean(&answer.stderr, 200);
                let text = format!("exit {} of the resident: {text}", answer.exit_code);
                Err(WorkspaceError::Infra(text).into())
            }
            None => Err(replaced().into()),
        }
    }

    async fn command(
        &self,
        command: &str,
        timeout: Duration,
        repeat: Repeat,
        cancel: &CancellationToken,
    ) -> Result<Option<ExecResponse>, TreeError> {
        let command = ExecCommand::parse(command)
            .map_err(|error| WorkspaceError::Refused(error.to_string()))?;
        let request = ExecRequest {
            resource: self.note().resource,
            thread_key: self.thread.clone(),
            command,
            timeout_ms: i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX),
        };
        let send = || -> BoxFuture<'_, _> { Box::pin(self.residents.exec(&request, cancel)) };
        self.call(timeout, repeat, cancel, send).await
    }

    /// Sends a call that may be repeated after an attach.
    pub(super) async fn file_call<'a, T>(
        &'a self,
        cancel: &'a CancellationToken,
        send: impl Fn() -> BoxFuture<'a, Result<T, ResidentsError>> + Send + Sync,
    ) -> Result<T, WorkspaceError> {
        let answer = self
            .call(BUSY_MAX, Repeat::AfterReplacement, cancel, send)
            .await?;
        answer.ok_or_else(replaced)
    }

    /// Sends a call. `None` if the container was replaced and the call is not repeated.
    async fn call<'a, T>(
        &'a self,
        budget: Duration,
        repeat: Repeat,
        cancel: &CancellationToken,
        send: impl Fn() -> BoxFuture<'a, Result<T, ResidentsError>> + Send + Sync,
    ) -> Result<Option<T>, TreeError> {
        let until = Instant::now() + budget.min(BUSY_MAX);
        let mut waits = BUSY_WAITS
            .into_iter()
            .chain(std::iter::repeat(BUSY_WAITS[BUSY_WAITS.len() - 1]));
        let mut is_reattached = false;
        loop {
            let refusal = match send().await {
                Ok(answer) => {
                    self.replacements.store(0, Ordering::Relaxed);
                    return Ok(Some(answer));
                }
                Err(error) if is_busy(&error) => {
                    let wait = waits.next().unwrap_or(BUSY_MAX);
                    if Instant::now() + wait > until {
                        return Err(error.into());
                    }
                    tokio::select! {
                        () = cancel.cancelled() => return Err(WorkspaceError::Cancelled.into()),
                        () = tokio::time::sleep(wait) => continue,
                    }
                }
                Err(ResidentsError::Refused(refusal)) => refusal,
                Err(error) => return Err(error.into()),
            };
            match refusal.token() {
                Token::RuntimeReplaced => {
                    let before = self.replacements.fetch_add(1, Ordering::Relaxed);
                    if before + 1 >= REPLACEMENTS_MAX {
                        return Err(replaced().into());
                    }
                    self.reattach(&refusal, cancel).await?;
                    if repeat == Repeat::Never {
                        return Ok(None);
                    }
                }
                token if token.needs() == Some("attach") && !is_reattached => {
                    self.reattach(&refusal, cancel).await?;
                    is_reattached = true;
                }
                _ => return Err(TreeError::Refused(refusal)),
            }
        }
    }

    async fn reattach(&self, why: &Refusal, cancel: &CancellationToken) -> Result<(), TreeError> {
        if !self.may_attach {
            return Err(TreeError::Refused(Box::new(why.clone())));
        }
        let bound = self.note().bound;
        let answer = self.attach(Some(&bound), cancel).await?;
        let returned = self.adopt(&answer, cancel).await?;
        if was_made(&answer) {
            let lost = match returned {
                Some(_) => "changes after this checkpoint, ignored files and secrets are not in it",
                None => "changes that were not committed before are not in it",
            };
            let place = self.place(&answer, returned.as_ref());
            let notice = format!(
                "[the working tree was made again at {place}: {lost} ({})]",
                why.error()
            );
            lock(&self.notices).push(notice);
        }
        Ok(())
    }

    /// Detaches the thread after its run. A tree with unsaved work stays.
    pub(super) async fn release(&self, is_stopped: bool) {
        if !self.may_attach {
            return;
        }
        // A command of a stopped run ends only by force. The resident saves the tree first.
        let force = is_stopped && self.has_abandoned.load(Ordering::Relaxed);
        let (resource, thread_key) = (self.note().resource, self.thread.clone());
        let request = DetachRequest {
            resource,
            thread_key,
            force,
        };
        match self
            .residents
            .detach(&request, &CancellationToken::new())
            .await
        {
            Ok(answer) if answer.released => {
                let mut note = self.note();
                note.is_released = true;
                if !force {
                    // The tree was clean.
                    note.saved = None;
                }
                if let Err(error) = self.store(note).await {
                    tracing::warn!(%error, "the release of a tree was not noted");
                }
            }
            Ok(answer) => {
                let reason = answer.reason.unwrap_or_default();
                tracing::debug!(thread = %self.thread, reason, "a tree stays on its resident");
            }
            Err(error) => tracing::warn!(thread = %self.thread, %error, "a tree was not released"),
        }
    }

    pub(super) async fn store(&self, note: Note) -> Result<(), WorkspaceError> {
        lock(&self.note).clone_from(&note);
        let (notes, key) = (self.notes.clone(), self.key.clone());
        let written = tokio::task::spawn_blocking(move || notes.write(&key, &note)).await;
        written
            .unwrap_or_else(|_| Err(WorkspaceError::Infra("writing a note broke off".to_owned())))
    }
}

/// Returns whether the same call may succeed later. Its command did not run.
fn is_busy(error: &ResidentsError) -> bool {
    match error {
        ResidentsError::Busy => true,
        ResidentsError::Refused(refusal) => refusal.token() == Token::MirrorBusy,
        ResidentsError::Unreachable(_) | ResidentsError::Failed(_) | ResidentsError::Cancelled => {
            false
        }
    }
}

/// Returns whether an attach made a tree, and did not find the earlier one.
pub(super) fn was_made(answer: &AttachResponse) -> bool {
    answer.recreated || answer.trace.iter().any(|step| step.step == MADE)
}

/// Returns the start of a commit.
pub(super) fn short(sha: &str) -> &str {
    sha.get(..SHORT_SHA).unwrap_or(sha)
}

/// Returns the error of a failed call.
pub(super) fn of_error(error: &ResidentsError) -> WorkspaceError {
    match error {
        ResidentsError::Refused(refusal) => of_refusal(refusal),
        ResidentsError::Busy => WorkspaceError::Busy,
        ResidentsError::Cancelled => WorkspaceError::Cancelled,
        ResidentsError::Unreachable(_) | ResidentsError::Failed(_) => {
            WorkspaceError::Infra(error.to_string())
        }
    }
}

fn of_refusal(refusal: &Refusal) -> WorkspaceError {
    let text = refusal.error().to_owned();
    match refusal.token() {
        Token::PathEscape => WorkspaceError::PathEscape(text),
        Token::ReadFailed => WorkspaceError::NotFound(text),
        Token::Invalid | Token::WriteFailed | Token::UnknownRef | Token::OpRefused => {
            WorkspaceError::Refused(text)
        }
        _ => WorkspaceError::Infra(match refusal.reason() {
            Some(reason) if !text.contains(reason) => format!("{text} ({reason})"),
            _ => text,
        }),
    }
}

fn replaced() -> WorkspaceError {
    WorkspaceError::Infra("the resident's container was replaced repeatedly".to_owned())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
