//! Missed messages: those that an earlier process stored, and those in the channels.

use std::time::Duration;

use ars_slack::{
    Ts,
    card::is_card,
    catch_up::{
        CARD_MAX_AGE_MS, CHANNEL_MAX_PAGES, MAX_CONCURRENT_READS, PAGE_MAX_MESSAGES,
        RECEIPT_MAX_AGE_MS, Window, is_answered,
    },
    event::Message,
};
use ars_types::UnixMillis;
use futures::{StreamExt as _, stream};
use tokio::time::sleep;

use super::run::Found;
use crate::{
    api::{ApiError, ChannelFacts},
    inbox::PendingMessage,
    receive::{self, Address, Arrival, without_notes},
    workspace::{MAX_CLOCK_LAG_MS, Workspace},
};

/// Minutes in which a thread's cards are looked at.
const CARD_MINUTES: u32 = (CARD_MAX_AGE_MS / 60_000) as u32;

/// Age from which a stored message is not served any more.
const PENDING_MAX_AGE_MS: i64 = 24 * 60 * 60 * 1000;
/// Wait after the first failure to read a stored message; it doubles with each further one.
const FIRST_READ_PAUSE: Duration = Duration::from_secs(2);
/// Longest wait between two attempts to read it.
const MAX_READ_PAUSE: Duration = Duration::from_secs(60);

/// A thread that was read, oldest message first.
pub(super) struct ReadThread {
    pub(super) channel: String,
    pub(super) messages: Vec<Message>,
}

/// Serves messages that an earlier process accepted and did not begin.
pub(super) async fn serve_pending(workspace: &Workspace, found: &mut Found) {
    let pending = match workspace.pending.read().await {
        Ok(pending) => pending,
        Err(error) => {
            tracing::warn!(%error, "the list of accepted chat messages could not be read");
            return;
        }
    };
    for place in pending {
        let (Some(ts), Some(thread)) = (Ts::parse(&place.ts), Ts::parse(&place.thread)) else {
            continue;
        };
        // Otherwise this process serves it.
        if workspace.seen.note(&place.channel, ts) {
            found.missed += 1;
            workspace.seen.accept(&place.channel, ts);
            tokio::spawn(serve_place(workspace.clone(), place, ts, thread));
        }
    }
}

/// Serves a stored message, however long the platform takes to show it.
async fn serve_place(workspace: Workspace, place: PendingMessage, ts: Ts, thread: Ts) {
    wait_until_ripe(&workspace, place.accepted_at).await;
    let mut pause = FIRST_READ_PAUSE;
    let message = loop {
        match unanswered(&workspace, &place, ts, thread).await {
            Ok(message) => break message,
            Err(error @ ApiError::Refused { .. }) => {
                tracing::warn!(%error, "an accepted chat message is gone");
                break None;
            }
            Err(error) => {
                tracing::warn!(%error, "an accepted chat message could not be read again");
            }
        }
        tokio::select! {
            () = sleep(pause) => pause = (pause * 2).min(MAX_READ_PAUSE),
            () = workspace.draining.cancelled() => {
                workspace.seen.forget(&place.channel, ts);
                return;
            }
        }
    };
    match message {
        Some(message) => {
            let place = (thread, Address::Bot);
            receive::serve(workspace, message, place, Arrival::CaughtUp).await;
        }
        None => workspace.pending.remove(&place.channel, &place.ts).await,
    }
}

/// Returns a stored message, unless its run exists, or the bot answered it, or it is too old.
async fn unanswered(
    workspace: &Workspace,
    place: &PendingMessage,
    ts: Ts,
    thread: Ts,
) -> Result<Option<Message>, ApiError> {
    let now = workspace
        .core()
        .map_or(place.accepted_at, |core| core.clock().now());
    if now.saturating_sub(place.accepted_at) > PENDING_MAX_AGE_MS {
        return Ok(None);
    }
    let account = workspace.account().await?;
    let messages = workspace
        .api
        .replies_since(&place.channel, thread, ts)
        .await?;
    let mut messages = without_notes(messages);
    // With a ledger, the run of a card makes this request a repetition by its idempotency key.
    if workspace
        .core()
        .is_some_and(|core| core.generation().is_some())
    {
        messages.retain(|message| !is_card(&message.blocks));
    }
    let message = messages.iter().find(|one| one.ts == ts);
    let message = message.filter(|_| !is_answered(ts, &messages, &account.bot));
    Ok(message.cloned())
}

/// Waits until an accepted message is old enough that a living process would have begun it.
async fn wait_until_ripe(workspace: &Workspace, accepted_at: UnixMillis) {
    let now = workspace
        .core()
        .map_or(accepted_at, |core| core.clock().now());
    let age = now.saturating_sub(accepted_at).max(0);
    let left = u64::try_from(RECEIPT_MAX_AGE_MS - age).unwrap_or_default();
    sleep(Duration::from_millis(left)).await;
}

/// Serves the missed messages of the channels, oldest first, unless catch-ups are off. Returns the
/// threads that were read.
pub(super) async fn serve(
    workspace: &Workspace,
    channels: &[ChannelFacts],
    found: &mut Found,
) -> Vec<ReadThread> {
    let (Some(core), Ok(account)) = (workspace.core(), workspace.account().await) else {
        return Vec::new();
    };
    let now = core.clock().now();
    let window = workspace
        .settings
        .catch_up
        .map(|minutes| Window { now, minutes });
    let minutes = workspace
        .settings
        .catch_up
        .unwrap_or_default()
        .max(CARD_MINUTES);
    let reading = Window { now, minutes };
    let reads = channels
        .iter()
        .map(|channel| read(workspace, &channel.id, reading));
    let reads: Vec<_> = reads.collect();
    let mut reads = stream::iter(reads).buffer_unordered(MAX_CONCURRENT_READS);
    let (mut missed, mut threads) = (Vec::new(), Vec::new());
    while let Some(read) = reads.next().await {
        match read {
            Ok(read) => {
                for thread in read {
                    match thread {
                        Ok(thread) => threads.push(thread),
                        Err(error) => found.explain(&error),
                    }
                }
            }
            Err(error) => found.fail(&error),
        }
    }
    for thread in &threads {
        let messages = without_notes(thread.messages.clone());
        let of_thread = window.map(|window| window.missed(&messages, &account.bot));
        missed.extend(of_thread.into_iter().flatten().cloned());
    }
    missed.sort_by_key(|message| message.ts);
    for message in missed {
        if !workspace.seen.note(&message.channel, message.ts) {
            continue;
        }
        found.missed += 1;
        receive::show_receipt(workspace, &message);
        workspace.seen.accept(&message.channel, message.ts);
        let (workspace, place) = (workspace.clone(), (message.thread(), Address::Bot));
        tokio::spawn(receive::serve(workspace, message, place, Arrival::CaughtUp));
    }
    threads
}

/// Reads a channel's messages, and the threads that were active in the window. A thread that cannot
/// be read does not keep the others back.
async fn read(
    workspace: &Workspace,
    channel: &str,
    window: Window,
) -> Result<Vec<Result<ReadThread, ApiError>>, ApiError> {
    let times = (
        window.parents_since(),
        Ts::from_millis(window.now + MAX_CLOCK_LAG_MS),
    );
    let mut parents = Vec::new();
    let mut cursor = None;
    for _ in 0..CHANNEL_MAX_PAGES {
        let page = workspace
            .api
            .history(channel, times, PAGE_MAX_MESSAGES, cursor.as_deref())
            .await?;
        parents.extend(page.entries);
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    let concerned = parents.into_iter().filter(|parent| window.concerns(parent));
    let reads = concerned.map(|parent| read_thread(workspace, channel, parent, window));
    let reads: Vec<_> = reads.collect();
    let reads = stream::iter(reads).buffer_unordered(MAX_CONCURRENT_READS);
    Ok(reads.collect().await)
}

/// Reads a thread's first messages, which show whether the bot takes part, and those of the window.
async fn read_thread(
    workspace: &Workspace,
    channel: &str,
    parent: Message,
    window: Window,
) -> Result<ReadThread, ApiError> {
    let messages = if parent.latest_reply.is_some() {
        let api = &workspace.api;
        let mut messages = api.replies(channel, parent.ts, PAGE_MAX_MESSAGES).await?;
        if messages.len() >= PAGE_MAX_MESSAGES as usize {
            let newer = api
                .replies_since(channel, parent.ts, window.since())
                .await?;
            let last = messages.last().map(|message| message.ts);
            messages.extend(newer.into_iter().filter(|message| Some(message.ts) > last));
        }
        messages
    } else {
        vec![parent]
    };
    Ok(ReadThread {
        channel: channel.to_owned(),
        messages,
    })
}
