//! A thread as a channel.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ars_agent::Role;
use ars_bot_ports::{
    Attachment, AttachmentError, Channel, ChannelEvent, Confirmation, HistoryTurn, Refusal,
    ReplyError, TextFile, texts,
};
use ars_slack::{
    Ts,
    card::is_card,
    confirm::{self, ConfirmValue},
    event::{Bot, Message},
    files::skipped_note,
    markup::to_mrkdwn,
    text::request_text,
};
use ars_types::{ChannelTraits, Platform, RunId};
use ars_wire::{idempotency::IdempotencyKey, ledger::LiveRun};
use async_trait::async_trait;
use tokio::sync::{Mutex as AsyncMutex, watch};

use super::replies::Replies;
use crate::{
    api::{ApiError, Recipient},
    card::{CardHandle, Origin, RunRow},
    inbox::message_key,
    receive::{self, LATE_NOTE},
    workspace::{MAX_CLOCK_LAG_MS, Workspace},
};

/// Messages of a thread that the model sees.
const MAX_HISTORY_MESSAGES: usize = 50;

/// Emoji of a follow-up that the model received.
const READ_MARK: &str = "ballot_box_with_check";
/// Refuses a command that does not fit the buttons.
const TOO_LONG: &str = "⚠️ This command must be confirmed, and is too long for that: nothing was done. Shorten it, and send it again.";

/// How far the dispatch of a message got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Progress {
    /// No run exists yet, and nothing was answered.
    #[default]
    Dispatching,
    /// The run was created.
    Started,
    /// The message was answered without a run, or steers one.
    Answered,
    /// An earlier delivery started the run.
    Repeated,
    /// The process shuts down and accepted nothing.
    ShuttingDown,
}

/// A thread of a channel.
pub struct SlackChannel {
    workspace: Workspace,
    channel: String,
    thread: Ts,
    /// The message that is answered, unless the channel was reopened.
    trigger: Option<Ts>,
    /// Who wrote it.
    requester: Option<Recipient>,
    /// The run of an earlier process, if the channel was reopened.
    earlier: Option<RunRow>,
    /// The run whose answer follows.
    run: Mutex<Option<RunId>>,
    card: Mutex<Option<CardHandle>>,
    replies: AsyncMutex<Replies>,
    progress: watch::Sender<Progress>,
}

impl SlackChannel {
    pub(crate) fn new(
        workspace: Workspace,
        channel: String,
        thread: Ts,
        asked: Option<(Ts, Recipient)>,
    ) -> Self {
        let (trigger, requester) = asked.unzip();
        let now = workspace.core().map_or(0, |core| core.clock().now());
        let since = trigger.unwrap_or_else(|| Ts::from_millis(now - MAX_CLOCK_LAG_MS));
        Self {
            workspace,
            channel,
            thread,
            trigger,
            requester,
            earlier: None,
            run: Mutex::default(),
            card: Mutex::default(),
            replies: AsyncMutex::new(Replies::after(since)),
            progress: watch::Sender::default(),
        }
    }

    /// Returns the thread of another process's run, or `None` if it came from elsewhere.
    pub fn reopen(workspace: Workspace, run: &LiveRun) -> Option<Self> {
        let (Platform::Slack, place) = Platform::split(&run.thread_key)? else {
            return None;
        };
        let (channel, thread) = place.split_once(':')?;
        let row = RunRow::from_ledger(run);
        let since = Ts::from_millis(row.started_at - MAX_CLOCK_LAG_MS);
        Some(Self {
            run: Mutex::new(Some(row.run.clone())),
            earlier: Some(row),
            replies: AsyncMutex::new(Replies::repeated_after(since)),
            ..Self::new(workspace, channel.to_owned(), Ts::parse(thread)?, None)
        })
    }

    /// Returns how far the dispatch got, as it changes.
    pub(crate) fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    fn reach(&self, reached: Progress) {
        self.progress.send_if_modified(|progress| {
            let is_first = *progress == Progress::Dispatching;
            if is_first {
                *progress = reached;
            }
            is_first
        });
    }

    /// Starts the run's card.
    fn show(&self, run: RunId, origin: Origin) -> CardHandle {
        let place = (self.channel.clone(), self.thread);
        let handle = self
            .workspace
            .cards
            .start(&self.workspace, place, run, origin);
        *lock(&self.card) = Some(handle.clone());
        handle
    }

    /// Returns the card of the run, which an earlier process may have posted.
    fn card(&self) -> Option<CardHandle> {
        if let Some(card) = lock(&self.card).clone() {
            return Some(card);
        }
        let row = self.earlier.clone()?;
        Some(self.show(row.run.clone(), Origin::Earlier(row)))
    }

    /// Says something that is no run's answer.
    async fn say(&self, text: &str) -> Result<(), ReplyError> {
        let place = (self.channel.as_str(), self.thread);
        let about = self.about();
        let mut replies = self.replies.lock().await;
        replies.say(&self.workspace, place, (&about, text)).await
    }

    /// Posts the run's answer, or a command's, which has no run.
    async fn answer(&self, text: &str) -> Result<(), ReplyError> {
        let run = lock(&self.run).clone();
        // A part of the answer may stand in the thread already.
        let Some(run) = run.filter(|_| text != texts::INTERRUPTED) else {
            return self.say(text).await;
        };
        let place = (self.channel.as_str(), self.thread);
        let mut replies = self.replies.lock().await;
        replies.answer(&self.workspace, place, (&run, text)).await
    }

    /// Returns the request that the replies are about: a run or a message.
    fn about(&self) -> String {
        let run = lock(&self.run).as_ref().map(ToString::to_string);
        let trigger = || self.trigger.map(|ts| ts.to_string());
        run.or_else(trigger).unwrap_or_default()
    }

    /// Asks the requester. A press on the button runs the command.
    async fn ask(&self, confirmation: Confirmation) -> Result<(), ReplyError> {
        let Confirmation {
            text,
            command,
            about,
            user,
        } = confirmation;
        let (Some(ts), Some((Platform::Slack, user))) = (self.trigger, Platform::split(&user))
        else {
            return Err(ReplyError("nobody on Slack can confirm it".to_owned()));
        };
        let value = ConfirmValue {
            user: user.to_owned(),
            ts,
            thread: self.thread,
            text,
        };
        let Some(frame) = confirm::ask(&command, about, &value) else {
            return self.say(TOO_LONG).await;
        };
        let request = self.about();
        let mut replies = self.replies.lock().await;
        let content = (request.as_str(), frame.text.as_str(), Some(&frame.blocks));
        replies
            .show(&self.workspace, (&self.channel, self.thread), content)
            .await
    }

    async fn send_file(&self, message: String, file: TextFile) -> Result<(), ReplyError> {
        let message = to_mrkdwn(&message);
        let uploaded = self.workspace.api.upload(
            &self.channel,
            self.thread,
            (file.name, &file.content),
            &message,
        );
        let Err(error) = uploaded.await else {
            return Ok(());
        };
        let place = (self.channel.as_str(), self.thread);
        if matches!(error, ApiError::Unclear(_)) {
            let replies = self.replies.lock().await;
            if let Ok(true) = replies.has_file(&self.workspace, place, file.name).await {
                return Ok(());
            }
        }
        tracing::info!(%error, "a file is sent as text");
        self.say(&file.content).await
    }

    /// Adds the reaction of a message that the model received. Nothing waits for it.
    fn mark_read(&self, key: IdempotencyKey) {
        let workspace = self.workspace.clone();
        let channel = self.channel.clone();
        let thread = self.thread;
        let trigger = self.trigger;
        tokio::spawn(async move {
            let is_it = |ts: &Ts| message_key(&channel, *ts) == key;
            let found = match trigger.filter(is_it) {
                Some(ts) => Ok(Some(ts)),
                // An earlier process received it, so the id is in the thread.
                None => {
                    let messages = workspace.api.replies_since(&channel, thread, thread).await;
                    messages.map(|messages| messages.iter().map(|one| one.ts).find(is_it))
                }
            };
            let marked = match found {
                Ok(Some(ts)) => workspace.api.react(&channel, ts, READ_MARK).await,
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            };
            if let Err(error) = marked {
                tracing::debug!(%error, "a message that was read has no mark");
            }
        });
    }

    /// Returns the thread's messages that are part of the conversation.
    async fn messages(&self, bot: &Bot) -> Result<Vec<(Role, Message)>, ApiError> {
        let api = &self.workspace.api;
        let messages = api
            .replies_since(&self.channel, self.thread, self.thread)
            .await?;
        let role = |message: &Message| match message.is_by(bot) {
            true => Role::Assistant,
            false => Role::User,
        };
        let is_turn = |message: &Message| {
            let is_earlier = self.trigger.is_none_or(|trigger| message.ts < trigger);
            is_earlier && !is_card(&message.blocks) && message.text != LATE_NOTE
        };
        let mut turns: Vec<_> = messages.into_iter().filter(is_turn).collect();
        turns.drain(..turns.len().saturating_sub(MAX_HISTORY_MESSAGES));
        let turns = turns.into_iter();
        Ok(turns.map(|message| (role(&message), message)).collect())
    }

    async fn turns(&self) -> Result<Vec<HistoryTurn>, ApiError> {
        let bot = &self.workspace.account().await?.bot;
        let messages = self.messages(bot).await?;
        let newest_first: Vec<Message> = messages
            .iter()
            .rev()
            .filter(|(role, _)| *role == Role::User)
            .map(|(_, message)| message.clone())
            .collect();
        let (mut files, skipped) = receive::download(&self.workspace, &newest_first).await;
        let newest = newest_first.first().map(|message| message.ts);
        let note = (!skipped.is_empty()).then(|| skipped_note(&skipped));
        let turns = messages.into_iter().map(|(role, message)| {
            let is_of = |(ts, _): &mut (Ts, Attachment)| *ts == message.ts;
            HistoryTurn {
                attachments: files.extract_if(.., is_of).map(|(_, file)| file).collect(),
                text: texts::with_note(
                    request_text(&message.text, &bot.user_id),
                    note.as_deref().filter(|_| Some(message.ts) == newest),
                ),
                role,
            }
        });
        Ok(turns.collect())
    }
}

#[async_trait]
impl Channel for SlackChannel {
    fn traits(&self) -> ChannelTraits {
        Platform::Slack.channel_traits()
    }

    /// Returns nothing for the first message of a thread, without a call.
    async fn history(&self) -> Vec<HistoryTurn> {
        if self.trigger == Some(self.thread) {
            return Vec::new();
        }
        self.turns().await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the earlier messages of a thread could not be read");
            Vec::new()
        })
    }

    async fn read_attachment(&self, reference: &str) -> Result<Arc<[u8]>, AttachmentError> {
        receive::read_again(&self.workspace, reference).await
    }

    async fn send(&self, event: ChannelEvent) -> Result<(), ReplyError> {
        match event {
            ChannelEvent::RunStarted(run) => {
                *lock(&self.run) = Some(run.clone());
                self.show(run, Origin::New(self.requester.clone()));
                self.reach(Progress::Started);
                Ok(())
            }
            ChannelEvent::RunContinued(_) => {
                self.card();
                Ok(())
            }
            ChannelEvent::Status(text) => {
                if let Some(card) = lock(&self.card).as_ref() {
                    card.status(text);
                }
                Ok(())
            }
            ChannelEvent::RunCost(microusd) => {
                if let Some(card) = lock(&self.card).as_ref() {
                    card.cost(microusd);
                }
                Ok(())
            }
            ChannelEvent::RunFinished { status, .. } => {
                if let Some(card) = self.card() {
                    card.close(status).await;
                }
                Ok(())
            }
            ChannelEvent::RunMoved { .. } => {
                if let Some(card) = self.card() {
                    card.moved().await;
                }
                Ok(())
            }
            ChannelEvent::RejectedByShutdown | ChannelEvent::Refused(Refusal::ShuttingDown) => {
                // The next process serves the message, so nothing is answered.
                self.reach(Progress::ShuttingDown);
                Ok(())
            }
            ChannelEvent::Repeated(_) => {
                self.reach(Progress::Repeated);
                Ok(())
            }
            ChannelEvent::FollowUpRead(key) => {
                self.mark_read(key);
                Ok(())
            }
            ChannelEvent::CommandAnswered { .. } => Ok(()),
            ChannelEvent::File { message, file } => {
                let sent = self.send_file(message, file).await;
                self.reach(Progress::Answered);
                sent
            }
            ChannelEvent::Confirm(confirmation) => {
                let asked = self.ask(confirmation).await;
                self.reach(Progress::Answered);
                asked
            }
            ChannelEvent::Reply(text) => {
                let answered = self.answer(&text).await;
                self.reach(Progress::Answered);
                answered
            }
            event @ (ChannelEvent::Refused(_) | ChannelEvent::Notice(_)) => {
                let Some(text) = event.into_text() else {
                    return Ok(());
                };
                let said = self.say(&text).await;
                self.reach(Progress::Answered);
                said
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
