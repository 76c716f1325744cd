//! `/exec`, `/read` and `/write`: calls on an attached thread's tree.

use std::mem;
use std::rc::Rc;

use ars_resident::daemon::{Answer, SecretText, StepInput};
use ars_resident::names::StrictThreadKey;
use ars_resident::output::streams;
use ars_resident::plan::{
    EXEC_TIMEOUT_MAX_MS, check_credential, exec, read, write, write_credential,
};
use ars_resident::pool::PoolUser;
use ars_resident::refusal::{Refusal, Token};
use ars_resident::thread::{
    Binding, CredentialDecision, CredentialFile, decide_credential, require_tree,
};
use ars_resident::wire::{
    ExecRequest, ExecResponse, ReadRequest, ReadResponse, WriteRequest, WriteResponse,
};
use ars_sql::Sql;
use futures::FutureExt as _;
use futures::future::{LocalBoxFuture, Shared};

use super::engine::{Engine, InFlight};
use super::ready::{PLAIN_WAIT_MS, STREAMED_WAIT_MS};
use super::steps::Steps;
use crate::store::StoredCredential;
use crate::sync::within;
use crate::{Error, Fault, Host, TokenUse};

impl<S: Sql + 'static, H: Host> Engine<S, H> {
    /// Handles `/exec`. The command is never repeated, and ends once the caller has left.
    pub(super) async fn exec(
        self: &Rc<Self>,
        request: ExecRequest,
        left: Shared<LocalBoxFuture<'static, ()>>,
    ) -> Result<ExecResponse, Error> {
        let (binding, user, _count) = self.enter(&request.thread_key, STREAMED_WAIT_MS).await?;
        // Without a fresh credential the command runs nevertheless; git reports the missing
        // credential.
        drop(self.refresh_credential(&binding, user).await);
        let timeout_ms = request.timeout_ms;
        let step = exec(
            &binding.thread_key,
            &binding.git_ref,
            user,
            request.command,
            timeout_ms,
        );
        if left.clone().now_or_never().is_some() {
            return Err(
                Refusal::new(Token::Internal, "the caller left before the command began").into(),
            );
        }
        let mut steps = Steps::new(self);
        match steps.run_while(step, left).await {
            Ok(Answer::Command(mut end)) => {
                let refused = mem::take(&mut end.refused);
                let streams = streams(&end.captured(timeout_ms), Some(EXEC_TIMEOUT_MAX_MS));
                Ok(ExecResponse {
                    stdout: streams.stdout,
                    stderr: streams.stderr,
                    exit_code: streams.exit_code,
                    truncated: streams.truncated,
                    refused,
                })
            }
            Ok(_) => Err(Refusal::new(Token::Internal, "the command has no result").into()),
            Err(error) => Err(error.into_error(Token::Internal)),
        }
    }

    /// Handles a `/read` request.
    pub(super) async fn read(self: &Rc<Self>, request: ReadRequest) -> Result<ReadResponse, Error> {
        let (binding, user, _count) = self.enter(&request.thread_key, PLAIN_WAIT_MS).await?;
        let step = read(&binding.thread_key, &binding.git_ref, user, &request.path)?;
        let mut steps = Steps::new(self);
        match steps.run(step, StepInput::None).await {
            Ok(Answer::File { content, truncated }) => Ok(ReadResponse { content, truncated }),
            Ok(_) => Err(Refusal::new(Token::ReadFailed, "the file has no content").into()),
            Err(error) if error.is_not_found() => Err(self.missing(&binding).await),
            Err(error) => Err(error.into_error(Token::ReadFailed)),
        }
    }

    /// Handles a `/write` request.
    pub(super) async fn write(
        self: &Rc<Self>,
        request: WriteRequest,
    ) -> Result<WriteResponse, Error> {
        let (binding, user, _count) = self.enter(&request.thread_key, PLAIN_WAIT_MS).await?;
        let step = write(&binding.thread_key, &binding.git_ref, user, &request.path)?;
        let input = StepInput::Content {
            text: SecretText::new(request.content),
        };
        let mut steps = Steps::new(self);
        match steps.run(step, input).await {
            Ok(Answer::Written { bytes }) => Ok(WriteResponse { ok: true, bytes }),
            Ok(_) => Err(Refusal::new(Token::WriteFailed, "the file was not written").into()),
            Err(error) => Err(error.into_error(Token::WriteFailed)),
        }
    }

    /// Admits a call on a thread's tree and counts it.
    pub(super) async fn enter(
        self: &Rc<Self>,
        thread: &StrictThreadKey,
        wait_ms: i64,
    ) -> Result<(Binding, PoolUser, InFlight<S, H>), Error> {
        require_tree(self.store.binding(thread)?.as_ref())?;
        let count = {
            // An eviction in progress does not count this call, so it ends first.
            let Some(_turn) = within(&self.host, wait_ms, self.lock_thread(thread)).await else {
                let why = "another operation uses the thread's tree";
                return Err(Refusal::not_serviceable(self.state()?, why).into());
            };
            require_tree(self.store.binding(thread)?.as_ref())?;
            // Counted from here on, so that no detach removes the tree during the wait.
            self.count(Some(thread))
        };
        self.keep_alive().await;
        self.ready(wait_ms).await?;
        let binding = self.store.binding(thread)?;
        let user = require_tree(binding.as_ref())?.1;
        let binding =
            binding.ok_or_else(|| Refusal::new(Token::NotAttached, "attach the thread first"))?;
        Ok((binding, user, count))
    }

    /// Distinguishes a missing file from a missing tree.
    async fn missing(self: &Rc<Self>, binding: &Binding) -> Error {
        match self.check_tree(binding).await.check() {
            Some(_) => Refusal::new(Token::ReadFailed, "there is no such file").into(),
            None => Refusal::new(
                Token::WorktreeMissing,
                "the tree is not on the disk; attach the thread",
            )
            .into(),
        }
    }

    /// Replaces a writable tree's token if it expires soon, or if git erased it.
    async fn refresh_credential(
        self: &Rc<Self>,
        binding: &Binding,
        user: PoolUser,
    ) -> Result<(), Error> {
        let Some(stored) = self.store.credential(&binding.thread_key)? else {
            return Ok(());
        };
        let (thread, git_ref) = (&binding.thread_key, &binding.git_ref);
        let mut steps = Steps::new(self);
        let file = match steps
            .run(check_credential(thread, git_ref, user), StepInput::None)
            .await
        {
            Ok(Answer::Credential {
                file: CredentialFile::Present { .. },
            }) => CredentialFile::Present {
                written_at: stored.written_at,
                expires_at: stored.expires_at,
            },
            Ok(Answer::Credential { file }) => file,
            Ok(_) => return Ok(()),
            Err(error) => return Err(error.into_error(Token::Internal)),
        };
        let may_be_cached = match decide_credential(file, self.host.now()) {
            CredentialDecision::Keep => return Ok(()),
            CredentialDecision::Write => true,
            CredentialDecision::MintAnew => false,
        };
        let record = self.require_record()?;
        let Some(minted) = self
            .host
            .mint(&record.resource, TokenUse::Tree, may_be_cached)
            .await
            .map_err(Fault::from)?
        else {
            return Ok(());
        };
        steps.tree_token = Some(minted.credential);
        let written = steps
            .run(write_credential(thread, git_ref, user), StepInput::None)
            .await;
        written.map_err(|error| error.into_error(Token::Internal))?;
        let stored = StoredCredential {
            written_at: self.host.now(),
            expires_at: minted.expires_at,
        };
        Ok(self.store.save_credential(thread, stored)?)
    }
}
