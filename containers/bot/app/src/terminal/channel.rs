//! The channel for an `ars ask`: collects replies, prints status texts, and reports the run's
//! start.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ars_bot_ports::{Channel, ChannelEvent, HistoryTurn, ReplyError, texts};
use ars_events::Redactor;
use ars_types::{ChannelTraits, Platform, RunId, RunStatus};
use async_trait::async_trait;
use tokio::sync::oneshot;

/// Result that the request returns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Every reply, joined by a blank line; safe for a terminal.
    pub reply: String,
    /// The run and the status; `None` when the request was rejected before a run.
    pub run: Option<(RunId, Option<RunStatus>)>,
    /// The run's cost in millionths of a dollar, if known.
    pub cost: Option<u64>,
    /// The request was a command; whether it succeeded.
    pub command: Option<bool>,
}

/// Channel between terminal and core.
pub struct CliChannel {
    redactor: Arc<Redactor>,
    state: Mutex<State>,
    on_status: fn(&str),
}

struct State {
    replies: Vec<String>,
    run: Option<(RunId, Option<RunStatus>)>,
    cost: Option<u64>,
    command: Option<bool>,
    started: Option<oneshot::Sender<RunId>>,
}

impl CliChannel {
    /// Makes a channel and a receiver for the run's id. `on_status` receives short texts on
    /// progress.
    pub fn new(redactor: Arc<Redactor>, on_status: fn(&str)) -> (Self, oneshot::Receiver<RunId>) {
        let (started, when_started) = oneshot::channel();
        let state = State {
            replies: Vec::new(),
            run: None,
            cost: None,
            command: None,
            started: Some(started),
        };
        (
            Self {
                redactor,
                state: Mutex::new(state),
                on_status,
            },
            when_started,
        )
    }

    /// Returns the result so far; it is complete once the dispatch ended.
    pub fn outcome(&self) -> Outcome {
        let state = self.lock();
        let State {
            replies,
            run,
            cost,
            command,
            ..
        } = &*state;
        Outcome {
            reply: replies.join("\n\n"),
            run: run.clone(),
            cost: *cost,
            command: *command,
        }
    }

    /// Ends the wait for a run: none will start any more.
    pub fn close(&self) {
        self.lock().started = None;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Channel for CliChannel {
    fn traits(&self) -> ChannelTraits {
        Platform::Cli.channel_traits()
    }

    /// Empty: a command line thread consists only of its working tree.
    async fn history(&self) -> Vec<HistoryTurn> {
        Vec::new()
    }

    /// Redacts the model's answer, as on the run's page.
    async fn send(&self, event: ChannelEvent) -> Result<(), ReplyError> {
        if let ChannelEvent::Status(text) = &event {
            (self.on_status)(&self.redactor.clean(text, usize::MAX));
        }
        let mut state = self.lock();
        match event {
            ChannelEvent::CommandAnswered { failure } => state.command = Some(failure.is_none()),
            ChannelEvent::RunStarted(run) => {
                state.run = Some((run.clone(), None));
                if let Some(started) = state.started.take() {
                    // With `--json` there is no receiver.
                    drop(started.send(run));
                }
            }
            ChannelEvent::RunCost(microusd) => state.cost = Some(microusd),
            ChannelEvent::RunFinished { run, status } => state.run = Some((run, Some(status))),
            ChannelEvent::RunMoved { page, .. } => {
                state.replies.push(texts::run_continues_elsewhere(&page));
            }
            other => {
                let text = other
                    .into_text()
                    .map(|text| self.redactor.clean(&text, usize::MAX));
                state.replies.extend(text);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn replies_are_redacted_and_joined() {
        let redactor = Arc::new(Redactor::new(["hunter22".to_owned()]));
        let (channel, started) = CliChannel::new(redactor, |_| {});
        assert_eq!(channel.outcome(), Outcome::default());
        let id = RunId::parse("r1").unwrap();
        channel
            .send(ChannelEvent::RunStarted(id.clone()))
            .await
            .unwrap();
        assert_eq!(started.await.unwrap(), id);
        channel
            .send(ChannelEvent::Reply("a\u{1b}[31mb".into()))
            .await
            .unwrap();
        channel
            .send(ChannelEvent::Reply("hunter22".into()))
            .await
            .unwrap();
        channel.send(ChannelEvent::RunCost(4_500)).await.unwrap();
        let status = RunStatus::Completed;
        channel
            .send(ChannelEvent::RunFinished {
                run: id.clone(),
                status,
            })
            .await
            .unwrap();
        let run = Some((id, Some(status)));
        assert_eq!(
            channel.outcome(),
            Outcome {
                reply: "ab\n\n[redacted]".into(),
                run,
                cost: Some(4_500),
                command: None
            }
        );
    }
}
