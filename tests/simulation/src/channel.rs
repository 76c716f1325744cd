//! The requesters: what is said to each is kept, by the message that it answers.

use std::sync::{Arc, Mutex, OnceLock};

use ars_bot_ports::{ChannelIo, Channels, HistoryTurn, ReplyError};
use ars_types::RunId;
use ars_wire::ledger::LiveRun;
use async_trait::async_trait;

use crate::{
    evidence::{PassedOn, Said},
    life::Life,
    script,
};

/// How an acknowledgement of a follow-up begins.
const PASSED_ON: char = '↪';

/// What stands before a run's id in the address that an acknowledgement ends with.
const RUN_PAGE: &str = "/runs/";

/// What is said of a follow-up that was not run.
const HANDED_BACK: &str = "was not run";

/// The way back to the sender of one message.
pub(crate) struct Way {
    pub(crate) life: Arc<Life>,
    /// The message's id.
    to: String,
    /// The message of a run that was begun on this way: on a run's own channel, a follow-up that it left behind.
    begun: OnceLock<String>,
    /// The run that speaks here now.
    run: Mutex<Option<String>>,
}

impl Way {
    pub(crate) fn new(life: Arc<Life>, to: String, run: Option<&RunId>) -> Self {
        let run = Mutex::new(run.map(ToString::to_string));
        Self { life, to, begun: OnceLock::new(), run }
    }

    fn to(&self) -> &String {
        self.begun.get().unwrap_or(&self.to)
    }
}

#[async_trait]
impl ChannelIo for Way {
    async fn reply(&self, text: &str) -> Result<(), ReplyError> {
        let call = self.life.begin("reply").await;
        if !call.is_undelivered {
            let mut evidence = self.life.world.evidence();
            if text.starts_with(PASSED_ON) {
                let run = text.rsplit_once(RUN_PAGE).map(|(_, run)| run.to_owned());
                let passed_on = PassedOn { run, through: self.life.name.clone(), number: call.number };
                evidence.passed_on.insert(self.to().clone(), passed_on);
            } else if text.contains(HANDED_BACK) {
                // On the run's own channel it names the message.
                let named = script::ids(text);
                evidence.handed_back.extend(if named.is_empty() { vec![self.to().clone()] } else { named });
            } else {
                let run = self.run.lock().unwrap().clone();
                let through = self.life.name.clone();
                let has_leave =
                    run.as_ref().is_some_and(|run| evidence.run(run).has_leave.contains(&through));
                let is_without_leave = !has_leave && evidence.unanswered.contains(&through);
                let heard = evidence.heard.get(&through).copied().unwrap_or_default();
                evidence.said.push(Said {
                    to: self.to().clone(),
                    run,
                    text: text.to_owned(),
                    through,
                    number: call.number,
                    is_without_leave,
                    heard,
                });
            }
        }
        self.life.end_call(&call).await;
        if call.is_undelivered { Err(ReplyError("as planned".into())) } else { Ok(()) }
    }

    async fn history(&self) -> Vec<HistoryTurn> {
        Vec::new()
    }

    fn run_started(&self, id: &RunId) {
        *self.run.lock().unwrap() = Some(id.to_string());
        if let Some(request) = self.life.world.evidence().run(id.as_str()).request.clone() {
            let _ = self.begun.set(request);
        }
    }
}

/// The way back to the requester of a run that another process took in.
pub(crate) struct Reopened(pub(crate) Arc<Life>);

impl Channels for Reopened {
    fn reopen(&self, run: &LiveRun) -> Option<Arc<dyn ChannelIo>> {
        let to = script::ids(run.meta["label"].as_str()?).pop()?;
        Some(Arc::new(Way::new(Arc::clone(&self.0), to, Some(&run.run_id))))
    }
}
