//! Keeps one card true: folds the run's events into its state, and shows the newest frame.
//!
//! Not here: the look of a frame (`ars_slack::card`).

use std::time::Duration;

use ars_bot_core::registry::{Frame as RunFrame, Subscription};
use ars_events::Event;
use ars_slack::{
    Ts,
    card::{CardHead, CardState, Frame, frame},
};
use ars_types::{RunId, UnixMillis};
use futures::FutureExt as _;
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, MissedTickBehavior, interval, sleep, sleep_until},
};

use super::{
    cards::{Change, End, Origin},
    message::CardMessage,
};
use crate::{
    api::{ApiError, Urgency},
    workspace::{MAX_CLOCK_LAG_MS, Workspace},
};

/// Shortest time between two frames.
const FRAME_INTERVAL: Duration = Duration::from_secs(3);
/// Time between frames while nothing happens, so that the clock on the card goes on.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// Time between repetitions of the platform's status, which otherwise expires.
const STATUS_INTERVAL: Duration = Duration::from_secs(75);
/// How long the last frame waits for a turn: hundreds of cards may end together.
const CLOSE_WAIT: Duration = Duration::from_secs(60 * 60);
/// Attempts to show the last frame after the first failed.
const MAX_CLOSE_RETRIES: u32 = 6;
/// Wait before the first of them; it doubles with each further one.
const FIRST_CLOSE_PAUSE: Duration = Duration::from_secs(2);
/// Status that the platform shows beside the thread's input.
const NATIVE_STATUS: &str = "is working…";

/// The task of one card.
pub(super) struct Keeper {
    workspace: Workspace,
    channel: String,
    thread: Ts,
    run: RunId,
    is_earlier: bool,
    message: CardMessage,
    state: CardState,
    shown: Option<Frame>,
    /// The platform has no card here, such as in an archived channel.
    is_impossible: bool,
    has_native_status: bool,
    is_native_status_shown: bool,
}

impl Keeper {
    pub(super) fn new(
        workspace: Workspace,
        (channel, thread): (String, Ts),
        run: RunId,
        origin: Origin,
    ) -> Self {
        let here = workspace.core().and_then(|core| core.registry().get(&run));
        let (agent, model, started_at) = match (here, &origin) {
            (Some(run), _) => (run.facts.agent, run.facts.model, run.started_at),
            (None, Origin::Earlier(row)) => (row.agent.clone(), row.model.clone(), row.started_at),
            (None, Origin::New(_)) => (String::new(), None, now(&workspace)),
        };
        let head = CardHead {
            url: workspace.page(run.as_str()),
            run: Some(run.clone()),
            agent,
            model,
        };
        let state = CardState::new(head, started_at);
        let is_earlier = matches!(origin, Origin::Earlier(_));
        let recipient = match origin {
            Origin::New(recipient) => recipient,
            Origin::Earlier(_) => None,
        };
        let place = (channel.clone(), thread);
        Self {
            message: CardMessage::new(workspace.api.clone(), place, run.clone(), recipient),
            workspace,
            channel,
            thread,
            run,
            is_earlier,
            state,
            shown: None,
            is_impossible: false,
            has_native_status: true,
            is_native_status_shown: false,
        }
    }

    /// Runs until the run ended and the last frame is shown.
    pub(super) async fn run(
        mut self,
        mut changes: mpsc::Receiver<Change>,
        mut ended: watch::Receiver<Option<End>>,
        shown: watch::Sender<bool>,
    ) {
        if self.is_earlier {
            self.find().await;
        }
        let draining = self.workspace.draining.clone();
        let mut events = self.subscribe();
        let mut native = interval(STATUS_INTERVAL);
        native.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut next = Instant::now();
        let mut heartbeat = next;
        let (mut is_due, mut is_draining) = (true, false);
        loop {
            let show_at = if is_due { next } else { heartbeat };
            tokio::select! {
                biased;
                end = end_of(&mut ended) => {
                    // What was sent before the end belongs on the last frame.
                    while let Ok(change) = changes.try_recv() {
                        self.apply(change);
                    }
                    if let Some(Some(frames)) = next_frames(&mut events).now_or_never() {
                        self.fold(frames);
                    }
                    return self.end(end, &shown).await;
                }
                () = draining.cancelled(), if !is_draining => {
                    self.state.drain();
                    (is_due, is_draining) = (true, true);
                }
                () = sleep_until(show_at) => {
                    self.show(Urgency::Yields).await;
                    let now = Instant::now();
                    (next, heartbeat, is_due) = (now + FRAME_INTERVAL, now + HEARTBEAT, false);
                }
                Some(change) = changes.recv() => {
                    self.apply(change);
                    is_due = true;
                }
                frames = next_frames(&mut events) => {
                    match frames {
                        Some(frames) => is_due |= self.fold(frames),
                        None => events = None,
                    }
                }
                _ = native.tick(), if self.has_native_status && self.message.needs_status() => {
                    self.show_native_status(NATIVE_STATUS).await;
                }
            }
        }
    }

    /// Shows the last frame, and tries again: a card that spins for ever would be a lie.
    async fn end(mut self, end: End, shown: &watch::Sender<bool>) {
        match end {
            End::Closed(status) => self.state.close(status.into(), now(&self.workspace)),
            // The next process may show a frame any moment.
            End::Moved => {
                self.state.drain();
                self.show(Urgency::Yields).await;
                shown.send_replace(true);
                return;
            }
        }
        self.show(Urgency::Waits(CLOSE_WAIT)).await;
        self.end_native_status().await;
        shown.send_replace(true);
        let mut wait = FIRST_CLOSE_PAUSE;
        for _ in 0..MAX_CLOSE_RETRIES {
            let last = frame(&self.state, now(&self.workspace));
            if self.is_impossible || self.shown.as_ref() == Some(&last) {
                return;
            }
            sleep(wait).await;
            wait *= 2;
            self.show(Urgency::Waits(CLOSE_WAIT)).await;
        }
    }

    fn subscribe(&self) -> Option<Subscription> {
        let registry = self.workspace.core()?.registry();
        let token = registry.get(&self.run)?.token;
        registry.subscribe(&self.run, &token, 0)
    }

    fn apply(&mut self, change: Change) {
        match change {
            Change::Status(text) => self.state.status(&text, now(&self.workspace)),
            Change::Cost(microusd) => self.state.cost(microusd),
        }
    }

    /// Folds events into the state. Returns whether there were any.
    fn fold(&mut self, frames: Vec<RunFrame>) -> bool {
        let mut has_events = false;
        for frame in frames {
            let RunFrame::Event { json, .. } = frame else {
                continue;
            };
            // A kind that this version does not know changes nothing on the card.
            if let Ok(event) = serde_json::from_str::<Event>(&json) {
                let at = event.at.unwrap_or_else(|| now(&self.workspace));
                self.state.apply(&event.body, at);
                has_events = true;
            }
        }
        has_events
    }

    /// Shows the newest frame, unless it is shown already.
    async fn show(&mut self, urgency: Urgency) {
        let now = now(&self.workspace);
        let newest = frame(&self.state, now);
        if self.is_impossible || self.shown.as_ref() == Some(&newest) {
            return;
        }
        match self.message.show(&self.state, now, urgency).await {
            Ok(()) => self.shown = Some(newest),
            Err(ApiError::Refused { code, .. }) => {
                tracing::info!(run = %self.run, %code, "a card is not shown any more");
                self.is_impossible = true;
            }
            Err(error) => {
                tracing::debug!(run = %self.run, %error, "a frame was not shown");
                if matches!(error, ApiError::Unclear(_)) && self.message.is_absent() {
                    self.find().await;
                }
            }
        }
    }

    async fn find(&mut self) {
        let Ok(account) = self.workspace.account().await else {
            return;
        };
        let since = Ts::from_millis(self.state.started_at() - MAX_CLOCK_LAG_MS);
        self.message.find(&account.bot, since).await;
    }

    async fn show_native_status(&mut self, text: &str) {
        let set = self
            .workspace
            .api
            .set_status(&self.channel, self.thread, text)
            .await;
        // The workspace or the channel has no such status.
        self.has_native_status &= !matches!(set, Err(ApiError::Refused { .. }));
        self.is_native_status_shown = true;
    }

    async fn end_native_status(&mut self) {
        if self.has_native_status && self.is_native_status_shown {
            self.show_native_status("").await;
        }
    }
}

/// Waits for the end. A card without a handle left belongs to a run that is not driven here.
async fn end_of(ended: &mut watch::Receiver<Option<End>>) -> End {
    let end = ended.wait_for(Option::is_some).await;
    end.map_or(End::Moved, |end| end.unwrap_or(End::Moved))
}

async fn next_frames(events: &mut Option<Subscription>) -> Option<Vec<RunFrame>> {
    match events {
        Some(events) => events.next().await,
        None => std::future::pending().await,
    }
}

fn now(workspace: &Workspace) -> UnixMillis {
    workspace.core().map_or(0, |core| core.clock().now())
}
