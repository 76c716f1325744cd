//! The requesters: what is said to each is kept, by the message that it answers.

use std::sync::Arc;

use ars_bot_core::ports::{ChannelIo, Channels, HistoryTurn, ReplyError};
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
    pub(crate) to: String,
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
                evidence.passed_on.insert(self.to.clone(), passed_on);
            } else if text.contains(HANDED_BACK) {
                // On the run's own channel it names the message.
                let named = script::ids(text);
                evidence.handed_back.extend(if named.is_empty() { vec![self.to.clone()] } else { named });
            } else {
                evidence.said.push(Said { to: self.to.clone(), text: text.to_owned() });
            }
        }
        self.life.end_call(&call).await;
        if call.is_undelivered { Err(ReplyError("as planned".into())) } else { Ok(()) }
    }

    async fn history(&self) -> Vec<HistoryTurn> {
        Vec::new()
    }

    fn run_started(&self, id: &RunId) {
        self.life.world.evidence().run(id.as_str());
    }
}

/// The way back to the requester of a run that another process took in.
pub(crate) struct Reopened(pub(crate) Arc<Life>);

impl Channels for Reopened {
    fn reopen(&self, run: &LiveRun) -> Option<Arc<dyn ChannelIo>> {
        let to = script::ids(run.meta["label"].as_str()?).pop()?;
        Some(Arc::new(Way { life: Arc::clone(&self.0), to }))
    }
}
