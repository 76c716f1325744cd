//! Serves an accepted message: files, sender and dispatch.

use std::{sync::Arc, time::Duration};

use ars_auth::{Actor, policy::stamp};
use ars_bot_core::threads::{Amendment, Draft};
use ars_bot_ports::{Choices, IncomingMessage, texts::with_note};
use ars_events::InputSource;
use ars_slack::{
    Ts,
    catch_up::{is_answered, is_late},
    event::Message,
    permalink,
    text::request_text,
};
use ars_types::{Platform, ThreadKey, UnixMillis, Visibility};
use tokio::time::sleep;

use super::files::{Files, files_of};
use crate::{
    Admits,
    api::{Account, ApiError, ChannelFacts, PostForm, Recipient, UserFacts},
    channel::{Progress, SlackChannel, reply_id},
    inbox::message_key,
    workspace::Workspace,
};

/// Attempts to learn who wrote a message, and where.
const MAX_LOOKUPS: u32 = 6;
/// Wait after the first of them; it doubles with each further one.
const FIRST_LOOKUP_PAUSE: Duration = Duration::from_secs(2);
/// Note for a requester that the message waited for a restart.
pub(crate) const LATE_NOTE: &str =
    "I was restarting or reconnecting when this arrived, so I picked it up late.";
/// Refuses a guest.
const NO_GUESTS: &str = "Guests and people of other organizations cannot use me here. An administrator can allow it (`slack.admitGuests`).";
/// Refuses a shared channel.
const NO_SHARED_CHANNELS: &str = "I do not work in channels that another organization shares. An administrator can allow it (`slack.admitSharedChannels`).";

/// How a message reached this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// As an event.
    Live {
        /// When it arrived.
        accepted_at: UnixMillis,
    },
    /// It was found in the channel afterwards.
    CaughtUp,
}

/// Whom a message is addressed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Address {
    /// The bot, by a mention or a direct message.
    Bot,
    /// A thread that the bot takes part in.
    Thread,
}

/// Serves a message until the run exists, or it was answered or refused.
pub(crate) async fn serve(
    workspace: Workspace,
    message: Message,
    place: (Ts, Address),
    arrival: Arrival,
) {
    let (channel, ts) = (message.channel.clone(), message.ts);
    let draft = open_draft(&workspace, &message);
    // Never closed.
    let _turn = workspace.serving.acquire().await;
    let reached = try_serve(&workspace, message, place, arrival, draft.as_ref()).await;
    if reached == Progress::ShuttingDown {
        workspace.seen.forget(&channel, ts);
        return;
    }
    workspace.pending.remove(&channel, &ts.to_string()).await;
}

/// Opens a message for changes by its author, until the draft is dropped.
pub(super) fn open_draft(workspace: &Workspace, message: &Message) -> Option<Draft> {
    let author = Actor::slack(message.user.as_ref()?).id;
    let key = message_key(&message.channel, message.ts);
    Some(workspace.core()?.open_draft(&key, &author))
}

async fn try_serve(
    workspace: &Workspace,
    message: Message,
    (thread, address): (Ts, Address),
    arrival: Arrival,
    draft: Option<&Draft>,
) -> Progress {
    let (Some(core), Ok(account)) = (workspace.core(), workspace.account().await) else {
        return Progress::ShuttingDown;
    };
    let Some(user) = message.user.clone() else {
        return Progress::Repeated;
    };
    let received_at = match arrival {
        Arrival::Live { accepted_at } => accepted_at,
        Arrival::CaughtUp => core.clock().now(),
    };
    let is_late = arrival != Arrival::CaughtUp && is_late(message.ts, received_at);
    if is_late && was_answered(workspace, &message, thread).await {
        return Progress::Repeated;
    }
    if workspace.draining.is_cancelled() {
        return Progress::ShuttingDown;
    }
    if arrival == Arrival::CaughtUp {
        say(workspace, &message, thread, LATE_NOTE).await;
    }
    let (known_channel, known_user) = tokio::join!(
        known(|| workspace
            .directory
            .channel(&workspace.api, &message.channel)),
        known(|| workspace.directory.user(&workspace.api, &user)),
    );
    let outsider = Outsider {
        is_ext_shared: message.is_ext_shared,
        team: message.team.as_ref(),
        channel: known_channel.as_ref(),
        user: known_user.as_ref(),
    };
    if let Some(refusal) = outsider.refusal(workspace.settings.admits, account) {
        // People who talk to each other in a thread do not get the refusal again and again.
        if address == Address::Bot {
            say(workspace, &message, thread, refusal).await;
        }
        return Progress::Answered;
    }
    let requester = requester(&message, &user, known_user.as_ref(), account);
    let files = files_of(workspace, &message).await;
    let text = match draft.and_then(Draft::take) {
        None => request_text(&message.text, &account.bot.user_id),
        Some(Amendment::Text { text, .. }) => text,
        Some(Amendment::Withdrawn) => return Progress::Answered,
    };
    let request = Request {
        text,
        visibility: visibility(&message.channel, known_channel.as_ref()),
        user,
        received_at,
        files,
        url: Some(permalink(
            &account.url,
            &message.channel,
            message.ts,
            Some(thread),
        )),
        is_confirmed: false,
    };
    let place = (message.channel.as_str(), message.ts, thread);
    let Some(request) = request.message(place) else {
        return Progress::Repeated;
    };
    let channel = Arc::new(SlackChannel::new(
        workspace.clone(),
        message.channel.clone(),
        thread,
        Some((message.ts, requester)),
    ));
    dispatch(core, request, channel).await
}

/// Returns who sees the run's stream grow.
fn requester(
    message: &Message,
    user: &str,
    known: Option<&UserFacts>,
    account: &Account,
) -> Recipient {
    let team = message.team.as_ref().or_else(|| known?.team.as_ref());
    Recipient {
        team: team.unwrap_or(&account.team).clone(),
        user: user.to_owned(),
    }
}

/// Asks for facts until the platform gives or refuses them. An outage must not look like a guest.
pub(super) async fn known<T, F>(ask: impl Fn() -> F) -> Option<T>
where
    F: Future<Output = Result<T, ApiError>>,
{
    let mut pause = FIRST_LOOKUP_PAUSE;
    for _ in 0..MAX_LOOKUPS {
        match ask().await {
            Ok(facts) => return Some(facts),
            Err(ApiError::Refused { code, .. }) => {
                tracing::warn!(%code, "Slack does not describe a sender or a channel");
                return None;
            }
            Err(_) => sleep(pause).await,
        }
        pause *= 2;
    }
    None
}

/// Says something about a message. A failure is logged.
pub(super) async fn say(workspace: &Workspace, message: &Message, thread: Ts, text: &str) {
    let id = reply_id(&["text", &message.ts.to_string(), text]);
    let form = PostForm::Reply {
        id: &id,
        blocks: None,
    };
    let posted = workspace.api.post(&message.channel, thread, text, form);
    if let Err(error) = posted.await {
        tracing::warn!(%error, "a sender was not told what happens to a chat message");
    }
}

/// Dispatches the request, and returns how far it got when the message need not be kept any more.
pub(super) async fn dispatch(
    core: &ars_bot_core::Core,
    request: IncomingMessage,
    channel: Arc<SlackChannel>,
) -> Progress {
    let mut progress = channel.progress();
    let dispatched = {
        let (core, channel) = (core.clone(), Arc::clone(&channel));
        tokio::spawn(async move { core.dispatch(request, channel).await })
    };
    tokio::select! {
        biased;
        reached = progress.wait_for(|progress| *progress != Progress::Dispatching) => {
            reached.map_or(Progress::Answered, |reached| *reached)
        }
        _ended = dispatched => Progress::Answered,
    }
}

/// A sender and a channel that may be from outside.
pub(super) struct Outsider<'a> {
    pub(super) is_ext_shared: bool,
    pub(super) team: Option<&'a String>,
    pub(super) channel: Option<&'a ChannelFacts>,
    pub(super) user: Option<&'a UserFacts>,
}

impl Outsider<'_> {
    /// Returns why the sender or the channel is refused. An unknown sender may be a guest.
    pub(super) fn refusal(&self, admits: Admits, account: &Account) -> Option<&'static str> {
        let is_own =
            |team: &String| *team == account.team || Some(team) == account.enterprise.as_ref();
        let is_member = |user: &&UserFacts| {
            let is_colleague = user.enterprise.is_some() && user.enterprise == account.enterprise;
            let mut teams = user.team.iter().chain(self.team);
            !user.is_guest && (is_colleague || teams.all(is_own))
        };
        if !admits.guests && self.user.filter(is_member).is_none() {
            return Some(NO_GUESTS);
        }
        let is_shared = self.is_ext_shared || self.channel.is_some_and(|channel| channel.is_shared);
        (!admits.shared_channels && is_shared).then_some(NO_SHARED_CHANNELS)
    }
}

pub(super) fn visibility(channel: &str, facts: Option<&ChannelFacts>) -> Visibility {
    let is_public = facts.is_some_and(|facts| facts.is_public && !facts.is_shared);
    stamp(channel, is_public.then_some(Visibility::Public))
}

/// Returns whether the bot wrote in the thread after the message. An unreadable thread did not.
async fn was_answered(workspace: &Workspace, message: &Message, thread: Ts) -> bool {
    let Ok(account) = workspace.account().await else {
        return false;
    };
    let api = &workspace.api;
    let replies = api
        .replies_since(&message.channel, thread, message.ts)
        .await;
    replies.is_ok_and(|replies| is_answered(message.ts, &without_notes(replies), &account.bot))
}

/// The note about a late message answers nothing.
pub(crate) fn without_notes(mut messages: Vec<Message>) -> Vec<Message> {
    messages.retain(|message| message.text != LATE_NOTE);
    messages
}

/// A message with the facts around it.
pub(super) struct Request {
    pub(super) text: String,
    pub(super) visibility: Visibility,
    pub(super) user: String,
    pub(super) received_at: UnixMillis,
    pub(super) files: Files,
    pub(super) url: Option<String>,
    pub(super) is_confirmed: bool,
}

impl Request {
    /// Returns the core's form, or `None` for ids that no platform has. The place is the channel, the
    /// message that requests it, and the thread.
    pub(super) fn message(self, (channel, ts, thread): (&str, Ts, Ts)) -> Option<IncomingMessage> {
        let Files { attachments, note } = self.files;
        let text = with_note(self.text, note.as_deref());
        let channel = channel.to_owned();
        let key = format!("{channel}:{thread}");
        let thread_key = ThreadKey::from_text(&Platform::Slack.id(key))?;
        let actor = Actor::slack(&self.user);
        let idempotency = Some(message_key(&channel, ts));
        Some(IncomingMessage {
            source: Some(InputSource {
                url: self.url,
                channel: Some(channel.clone()),
                user: Some(actor.id.clone()),
            }),
            actor,
            channel_id: channel,
            thread_key,
            visibility: self.visibility,
            text,
            received_at: self.received_at,
            choices: Choices::default(),
            idempotency,
            attachments,
            is_confirmed: self.is_confirmed,
        })
    }
}
