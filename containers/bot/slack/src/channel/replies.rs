//! Posts replies: in chunks, in order, and once each.

use std::{collections::BTreeSet, time::Duration};

use ars_bot_ports::ReplyError;
use ars_slack::{
    Ts,
    card::is_card,
    event::Message,
    markup::{MAX_CHUNK_CHARS, chunks, to_mrkdwn},
    text::decode,
};
use ars_types::RunId;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, sleep};

use crate::{
    api::{ApiError, PostForm},
    workspace::Workspace,
};

/// How long a reply is tried to be posted. The run's record has it in any case.
const REPLY_LIMIT: Duration = Duration::from_secs(60 * 60);
/// Wait after the first failure; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Longest wait between two attempts to post a reply.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// Bytes of a reply's id.
const ID_BYTES: usize = 8;

/// The replies in a thread.
pub(super) struct Replies {
    /// No reply is older.
    since: Ts,
    /// The times of those that are known to be posted.
    posted: BTreeSet<Ts>,
    /// An earlier process may have posted the same replies.
    are_repeated: bool,
}

impl Replies {
    /// Makes the replies of a request that was written at this time.
    pub(super) fn after(since: Ts) -> Self {
        Self {
            since,
            posted: BTreeSet::new(),
            are_repeated: false,
        }
    }

    /// Makes the replies of a run that an earlier process began at this time, and may have answered.
    pub(super) fn repeated_after(since: Ts) -> Self {
        Self {
            are_repeated: true,
            ..Self::after(since)
        }
    }

    /// Posts a run's answer. Every process names the parts alike, even if a secret was hidden since.
    ///
    /// # Errors
    /// A part of it was not posted.
    pub(super) async fn answer(
        &mut self,
        workspace: &Workspace,
        place: (&str, Ts),
        (run, markdown): (&RunId, &str),
    ) -> Result<(), ReplyError> {
        let parts = chunks(&to_mrkdwn(markdown), MAX_CHUNK_CHARS);
        for (number, part) in parts.iter().enumerate() {
            let id = reply_id(&["answer", run.as_str(), &number.to_string()]);
            self.post(workspace, place, (part, None), &id).await?;
        }
        Ok(())
    }

    /// Posts a text that is no run's answer. Equal texts about one request are one text.
    ///
    /// # Errors
    /// A part of it was not posted.
    pub(super) async fn say(
        &mut self,
        workspace: &Workspace,
        place: (&str, Ts),
        (about, markdown): (&str, &str),
    ) -> Result<(), ReplyError> {
        for chunk in chunks(&to_mrkdwn(markdown), MAX_CHUNK_CHARS) {
            self.show(workspace, place, (about, &chunk, None)).await?;
        }
        Ok(())
    }

    /// Posts a text in Slack's markup, which may have blocks.
    ///
    /// # Errors
    /// It was not posted.
    pub(super) async fn show(
        &mut self,
        workspace: &Workspace,
        place: (&str, Ts),
        (about, text, blocks): (&str, &str, Option<&Value>),
    ) -> Result<(), ReplyError> {
        let id = reply_id(&["text", about, text]);
        self.post(workspace, place, (text, blocks), &id).await
    }

    async fn post(
        &mut self,
        workspace: &Workspace,
        place: (&str, Ts),
        content: (&str, Option<&Value>),
        id: &str,
    ) -> Result<(), ReplyError> {
        self.keep_posting(workspace, place, content, id)
            .await
            .map_err(|error| ReplyError(error.to_string()))
    }

    async fn keep_posting(
        &mut self,
        workspace: &Workspace,
        place: (&str, Ts),
        content: (&str, Option<&Value>),
        id: &str,
    ) -> Result<(), ApiError> {
        let deadline = Instant::now() + REPLY_LIMIT;
        let mut pause = FIRST_PAUSE;
        let mut may_exist = self.are_repeated;
        loop {
            let posted = self.post_once(workspace, place, content, id, &mut may_exist);
            let failure = match posted.await {
                Ok(ts) => {
                    self.posted.insert(ts);
                    return Ok(());
                }
                Err(failure) => failure,
            };
            let is_final = matches!(failure, ApiError::Refused { .. } | ApiError::Unreadable);
            if is_final || Instant::now() + pause > deadline {
                return Err(failure);
            }
            tracing::info!(%failure, "a reply is sent again");
            sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }

    /// Posts a reply, unless an earlier attempt did. Only a thread without it permits another post.
    async fn post_once(
        &self,
        workspace: &Workspace,
        (channel, thread): (&str, Ts),
        (text, blocks): (&str, Option<&Value>),
        id: &str,
        may_exist: &mut bool,
    ) -> Result<Ts, ApiError> {
        if *may_exist {
            if let Some(ts) = self.find(workspace, (channel, thread), text, id).await? {
                return Ok(ts);
            }
            *may_exist = false;
        }
        let form = PostForm::Reply { id, blocks };
        let posted = workspace.api.post(channel, thread, text, form).await;
        *may_exist = matches!(posted, Err(ApiError::Unclear(_)));
        posted.map(|posted| posted.ts)
    }

    /// Searches the thread for a reply: by id, or by text where the platform shows no id.
    async fn find(
        &self,
        workspace: &Workspace,
        (channel, thread): (&str, Ts),
        text: &str,
        id: &str,
    ) -> Result<Option<Ts>, ApiError> {
        let account = workspace.account().await?;
        let messages = workspace
            .api
            .replies_since(channel, thread, self.since)
            .await?;
        let wanted = decode(text);
        let is_it = |message: &&Message| {
            let is_new = message.ts > self.since && !self.posted.contains(&message.ts);
            let is_same = match &message.reply_id {
                Some(found) => found == id,
                None => decode(&message.text) == wanted && !is_card(&message.blocks),
            };
            message.is_by(&account.bot) && is_new && is_same
        };
        Ok(messages.iter().rev().find(is_it).map(|found| found.ts))
    }

    /// Returns whether the bot shared a file of this name since the request.
    pub(super) async fn has_file(
        &self,
        workspace: &Workspace,
        (channel, thread): (&str, Ts),
        name: &str,
    ) -> Result<bool, ApiError> {
        let account = workspace.account().await?;
        let messages = workspace
            .api
            .replies_since(channel, thread, self.since)
            .await?;
        let is_it = |message: &Message| {
            message.is_by(&account.bot) && message.files.iter().any(|file| file.name == name)
        };
        Ok(messages.iter().any(is_it))
    }
}

/// Returns the id of a reply, which every process derives from the same parts.
pub(crate) fn reply_id(parts: &[&str]) -> String {
    let digest = Sha256::digest(parts.join("\n"));
    hex::encode(digest.first_chunk::<ID_BYTES>().unwrap_or(&[0; ID_BYTES]))
}
