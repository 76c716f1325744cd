//! The channel of one `ars ask`: collects the reply and tells who watches when the run starts.

use std::sync::{Mutex, PoisonError};

use ars_bot_core::ports::{ChannelIo, HistoryTurn, ReplyError};
use ars_types::{RunId, RunStatus};
use async_trait::async_trait;
use tokio::sync::oneshot;

/// What came of the request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Every reply, joined by one blank line.
    pub reply: String,
    /// The run and how it ended; absent when the request was refused before a run.
    pub run: Option<(RunId, Option<RunStatus>)>,
}

/// The channel.
pub struct CliChannel {
    state: Mutex<State>,
}

struct State {
    replies: Vec<String>,
    run: Option<(RunId, Option<RunStatus>)>,
    started: Option<oneshot::Sender<RunId>>,
}

impl CliChannel {
    /// A channel, and what fires when its run is created.
    pub fn new() -> (Self, oneshot::Receiver<RunId>) {
        let (started, when_started) = oneshot::channel();
        let state = State { replies: Vec::new(), run: None, started: Some(started) };
        (Self { state: Mutex::new(state) }, when_started)
    }

    /// What came of the request, once it was dispatched to its end.
    pub fn outcome(&self) -> Outcome {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Outcome { reply: state.replies.join("\n\n"), run: state.run.clone() }
    }

    /// No run will start any more: whoever waits for one is told so.
    pub fn close(&self) {
        self.with(|state| state.started = None);
    }

    fn with(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

#[async_trait]
impl ChannelIo for CliChannel {
    async fn reply(&self, text: &str) -> Result<(), ReplyError> {
        self.with(|state| state.replies.push(text.to_owned()));
        Ok(())
    }

    /// A thread of the command line lives in its working tree; its words are not kept.
    async fn history(&self) -> Vec<HistoryTurn> {
        Vec::new()
    }

    fn run_started(&self, id: &RunId) {
        self.with(|state| {
            state.run = Some((id.clone(), None));
            if let Some(started) = state.started.take() {
                // Nobody watches a run that is asked for with `--json`.
                drop(started.send(id.clone()));
            }
        });
    }

    fn run_finished(&self, id: &RunId, status: RunStatus) {
        self.with(|state| state.run = Some((id.clone(), Some(status))));
    }
}
