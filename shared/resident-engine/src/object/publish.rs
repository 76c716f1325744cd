//! `/push` and `/checkout`: commits between a thread's tree and the code host, through the mirror.

use std::rc::Rc;

use ars_resident::daemon::{Answer, FailureKind, StepInput};
use ars_resident::plan::{
    PublishContext, check_out, contains, fetch_ref, note_pushed, push, receive,
};
use ars_resident::refusal::{Refusal, Token};
use ars_resident::wire::{CheckOutRequest, CheckOutResponse, PushRequest, PushResponse};
use ars_sql::Sql;

use super::call::TEXT_MAX_CHARS;
use super::engine::Engine;
use super::ready::STREAMED_WAIT_MS;
use super::steps::{StepError, Steps};
use crate::{Error, Host, TokenUse};

/// Git's words about a token that the code host does not accept.
const TOKEN_REJECTED: &str = "Authentication failed";
/// Git's words about a ref that the code host does not have.
const REF_MISSING: &str = "couldn't find remote ref";
/// Begins a line from the code host.
const REMOTE_MARK: &str = "remote: ";
/// Maximum number of git lines that a reason quotes.
const QUOTED_LINES: usize = 4;
/// Maximum number of characters in these lines that are searched for secrets. A Worker takes
/// milliseconds for each thousand.
const SEARCHED_MAX_CHARS: usize = 8_000;

impl<S: Sql + 'static, H: Host> Engine<S, H> {
    /// Handles `/push`. If the code host rejects it, that is a result. A repetition has no further
    /// effect.
    pub(super) async fn push(
        self: &Rc<Self>,
        request: &PushRequest,
    ) -> Result<PushResponse, Error> {
        let (binding, user, _count) = self.enter(&request.thread_key, STREAMED_WAIT_MS).await?;
        if binding.readonly {
            return Err(
                Refusal::new(Token::OpRefused, "the tree of the thread is read-only").into(),
            );
        }
        let record = self.require_record()?;
        let PushRequest { sha, branch, .. } = request;
        let context = PublishContext {
            thread: &binding.thread_key,
            git_ref: &binding.git_ref,
            user,
            sha,
        };
        let mut steps = Steps::new(self);
        let received = steps.run(receive(context), StepInput::None).await;
        received.map_err(|error| error.into_error(Token::OpFailed))?;
        let origin = self.host.origin(&record.resource);
        // A token that the code host rejects is minted anew once.
        for may_be_cached in [true, false] {
            let unminted = steps
                .mint_token(&record.resource, TokenUse::Push, may_be_cached)
                .await;
            let step = push(&origin, sha, branch, steps.token.is_some());
            let words = match steps.run(step, StepInput::None).await {
                Ok(_) => {
                    for step in note_pushed(context, branch) {
                        // Without the notes the push is repeated later, which changes nothing.
                        drop(steps.run(step, StepInput::None).await);
                    }
                    return Ok(PushResponse {
                        pushed: true,
                        reason: None,
                    });
                }
                Err(StepError::Step { failure, .. }) if failure.kind == FailureKind::Exit => {
                    failure.stderr
                }
                Err(error) => return Err(error.into_refusal(Token::OpFailed).into()),
            };
            if !may_be_cached || steps.token.is_none() || !words.contains(TOKEN_REJECTED) {
                return Ok(PushResponse {
                    pushed: false,
                    reason: Some(reason(&words, unminted.as_deref())),
                });
            }
        }
        Err(Refusal::new(Token::OpFailed, "the push has no result").into())
    }

    /// Handles `/checkout`. The code host must have the commit, so that no work from another thread
    /// is sent.
    pub(super) async fn check_out(
        self: &Rc<Self>,
        request: &CheckOutRequest,
    ) -> Result<CheckOutResponse, Error> {
        let (binding, user, _count) = self.enter(&request.thread_key, STREAMED_WAIT_MS).await?;
        let record = self.require_record()?;
        let CheckOutRequest { sha, from, .. } = request;
        let mut steps = Steps::new(self);
        if !is_contained(&mut steps, request).await? {
            steps
                .mint_token(&record.resource, TokenUse::Fetch, true)
                .await;
            let fetch = fetch_ref(from, steps.token.is_some());
            let has_ref = match steps.run(fetch, StepInput::None).await {
                Ok(_) => true,
                Err(StepError::Step { failure, .. }) if failure.stderr.contains(REF_MISSING) => {
                    false
                }
                Err(error) => return Err(error.into_refusal(Token::OpFailed).into()),
            };
            if !has_ref || !is_contained(&mut steps, request).await? {
                let detail = format!("the code host has no commit {sha} there any more");
                return Err(Refusal::new(Token::UnknownRef, &detail).into());
            }
        }
        let context = PublishContext {
            thread: &binding.thread_key,
            git_ref: &binding.git_ref,
            user,
            sha,
        };
        for step in check_out(context, from) {
            steps
                .run(step, StepInput::None)
                .await
                .map_err(|error| error.into_error(Token::OpFailed))?;
        }
        Ok(CheckOutResponse { sha: sha.clone() })
    }
}

/// Returns whether the mirror's ref contains the commit.
async fn is_contained<S: Sql + 'static, H: Host>(
    steps: &mut Steps<'_, S, H>,
    request: &CheckOutRequest,
) -> Result<bool, Error> {
    match steps
        .run(contains(&request.sha, &request.from), StepInput::None)
        .await
    {
        Ok(Answer::Command(_)) => Ok(true),
        Ok(_) => Ok(false),
        Err(StepError::Step { failure, .. }) if failure.kind == FailureKind::Exit => Ok(false),
        Err(error) => Err(error.into_refusal(Token::OpFailed).into()),
    }
}

/// Returns the code host's first lines, or git's last lines without any.
fn reason(words: &str, unminted: Option<&str>) -> String {
    let lines: Vec<&str> = words
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let mut quoted: Vec<&str> = lines
        .iter()
        .copied()
        .filter(|line| line.starts_with(REMOTE_MARK))
        .take(QUOTED_LINES)
        .collect();
    if quoted.is_empty() {
        quoted.extend(&lines[lines.len().saturating_sub(QUOTED_LINES)..]);
    }
    let without = unminted
        .map(|why| format!(" (without a token: {why})"))
        .unwrap_or_default();
    let text: String = quoted.join(" ").chars().take(SEARCHED_MAX_CHARS).collect();
    ars_events::clean(&format!("{text}{without}"), TEXT_MAX_CHARS)
}
