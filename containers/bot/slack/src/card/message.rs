//! A card's message: a native stream where the workspace has them, else an edited message.
//!
//! Not here: when a frame is shown (`keeper`), and the look (`ars_slack::card`).

use std::time::Duration;

use ars_slack::{
    Ts,
    card::{CardState, Frame, Plan, changed, closing_frame, frame, is_stream, plan, run_of_card},
    event::{Bot, Message},
};
use ars_types::{RunId, UnixMillis};
use tokio::time::Instant;

use crate::api::{Api, ApiError, PostForm, Recipient, Urgency};

/// A stream's life, after which the message is edited. The platform ends it after five minutes.
const STREAM_LIMIT: Duration = Duration::from_secs(240);

/// A card's message, posted or not.
pub(super) struct CardMessage {
    api: Api,
    channel: String,
    thread: Ts,
    run: RunId,
    form: Form,
}

enum Form {
    /// Nothing is posted. With a recipient a stream is tried, once.
    Absent(Option<Recipient>),
    /// A stream, which this process fills until the time.
    Stream { ts: Ts, shown: Plan, until: Instant },
    /// A message that is edited.
    Edited { ts: Ts, was_stream: bool },
}

impl CardMessage {
    pub(super) fn new(
        api: Api,
        (channel, thread): (String, Ts),
        run: RunId,
        recipient: Option<Recipient>,
    ) -> Self {
        Self {
            api,
            channel,
            thread,
            run,
            form: Form::Absent(recipient),
        }
    }

    /// Returns whether the platform's status is set beside the message. A stream brings it.
    pub(super) fn needs_status(&self) -> bool {
        matches!(self.form, Form::Edited { .. })
    }

    /// Returns whether there is no message, as far as known.
    pub(super) fn is_absent(&self) -> bool {
        matches!(self.form, Form::Absent(_))
    }

    /// Shows the state.
    ///
    /// # Errors
    /// The frame is not shown. A later one may be, unless the platform refused it. After an unclear
    /// failure an absent card has to be searched for first: it may be there, and spin for ever.
    pub(super) async fn show(
        &mut self,
        state: &CardState,
        now: UnixMillis,
        urgency: Urgency,
    ) -> Result<(), ApiError> {
        if self.start(state, now).await? || self.stream(state, now, urgency).await? {
            return Ok(());
        }
        let newest = frame(state, now);
        match self.form {
            Form::Edited { ts, was_stream } => {
                let edited = self.edit(ts, &newest, urgency).await;
                if !was_stream || !matches!(edited, Err(ApiError::Refused { .. })) {
                    return edited;
                }
                // The stream has ended, but takes no edits: the card is posted below it.
                self.form = Form::Absent(None);
                self.post(&newest).await
            }
            Form::Absent(_) | Form::Stream { .. } => self.post(&newest).await,
        }
    }

    /// Tries a stream. Returns whether it shows the state; any error means the edited card.
    async fn start(&mut self, state: &CardState, now: UnixMillis) -> Result<bool, ApiError> {
        let Form::Absent(recipient) = &mut self.form else {
            return Ok(false);
        };
        let recipient = recipient.take();
        let Some(recipient) = recipient.filter(|_| state.is_live() && self.api.has_streams())
        else {
            return Ok(false);
        };
        let shown = plan(state, now);
        let chunks = changed(&Plan::default(), &shown);
        let started = self
            .api
            .start_stream(&self.channel, self.thread, &recipient, &chunks);
        match started.await {
            Ok(ts) => {
                let until = Instant::now() + STREAM_LIMIT;
                self.form = Form::Stream { ts, shown, until };
                Ok(true)
            }
            // It may be there, and a second card would spin beside it.
            Err(ApiError::Unclear(_) | ApiError::Unreadable) => Err(ApiError::Unclear(None)),
            Err(error) => {
                tracing::debug!(run = %self.run, %error, "a card is edited instead of streamed");
                Ok(false)
            }
        }
    }

    /// Appends changes to a stream, or ends it. Returns `false` if the message is edited.
    async fn stream(
        &mut self,
        state: &CardState,
        now: UnixMillis,
        urgency: Urgency,
    ) -> Result<bool, ApiError> {
        loop {
            let Form::Stream { ts, shown, until } = &mut self.form else {
                return Ok(false);
            };
            let ts = *ts;
            let (api, place) = (&self.api, (self.channel.as_str(), ts));
            let is_open = Instant::now() < *until;
            let next = plan(state, now);
            let chunks = changed(shown, &next);
            let sent = match (is_open, state.is_live()) {
                (true, true) if chunks.is_empty() => return Ok(true),
                (true, true) => api.append_stream(place, &chunks).await,
                (true, false) => {
                    let blocks = closing_frame(state, now).blocks;
                    api.stop_stream(place, &chunks, Some(&blocks), urgency)
                        .await
                }
                (false, _) => api.stop_stream(place, &[], None, urgency).await,
            };
            match sent {
                Ok(()) if is_open && state.is_live() => {
                    *shown = next;
                    return Ok(true);
                }
                // A person or the platform ended it. If not, it is ended before it is edited.
                Err(ApiError::Refused { code, .. }) if is_open => {
                    tracing::info!(run = %self.run, %code, "a streamed card is edited from now on");
                    *until = Instant::now();
                }
                Ok(()) | Err(ApiError::Refused { .. }) => {
                    self.form = Form::Edited {
                        ts,
                        was_stream: true,
                    };
                    return Ok(is_open);
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn edit(&self, ts: Ts, frame: &Frame, urgency: Urgency) -> Result<(), ApiError> {
        let (api, place) = (&self.api, (self.channel.as_str(), ts));
        api.update(place, &frame.text, &frame.blocks, urgency).await
    }

    async fn post(&mut self, frame: &Frame) -> Result<(), ApiError> {
        let form = PostForm::Card(&frame.blocks);
        let posted = self
            .api
            .post(&self.channel, self.thread, &frame.text, form)
            .await?;
        self.form = Form::Edited {
            ts: posted.ts,
            was_stream: false,
        };
        Ok(())
    }

    /// Searches for a card that was posted since then, by an earlier process or by a call without
    /// an answer. A stream is ended, then edited.
    pub(super) async fn find(&mut self, bot: &Bot, since: Ts) {
        let replies = self.api.replies_since(&self.channel, self.thread, since);
        let Ok(messages) = replies.await else { return };
        let is_it = |message: &&Message| {
            run_of_card(&message.blocks) == Some(self.run.as_str()) && message.is_by(bot)
        };
        let Some(card) = messages.iter().rev().find(is_it) else {
            return;
        };
        self.form = if is_stream(&card.blocks) {
            Form::Stream {
                ts: card.ts,
                shown: Plan::default(),
                until: Instant::now(),
            }
        } else {
            Form::Edited {
                ts: card.ts,
                was_stream: false,
            }
        };
    }
}
