//! The requesters: records the messages sent to each, by the message they answer.

use std::sync::{Arc, Mutex, OnceLock};

use ars_bot_ports::{Channel, ChannelEvent, Channels, HistoryTurn, ReplyError};
use ars_types::{ChannelTraits, RunId};
use ars_wire::ledger::LiveRun;
use async_trait::async_trait;

use crate::{
    evidence::{Delivered, PassedOn},
    lifetime::Lifetime,
    script,
};

/// Prefix for acknowledging a follow-up.
const PASSED_ON: char = '↪';

/// Text before the run id in the address that ends an acknowledgement.
const RUN_PAGE: &str = "/runs/";

/// Text about a follow-up that was not run.
const RETURNED: &str = "was not run";

/// A single message's reply channel.
pub(crate) struct ReplyChannel {
    pub(crate) life: Arc<Lifetime>,
    /// The message's id.
    to: String,
    /// Message of a run that started on this channel: on a run's own channel, an unread follow-up.
    begun: OnceLock<String>,
    /// The run that currently uses the channel.
    run: Mutex<Option<String>>,
}

impl ReplyChannel {
    pub(crate) fn new(life: Arc<Lifetime>, to: String, run: Option<&RunId>) -> Self {
        let run = Mutex::new(run.map(ToString::to_string));
        Self {
            life,
            to,
            begun: OnceLock::new(),
            run,
        }
    }

    fn to(&self) -> &String {
        self.begun.get().unwrap_or(&self.to)
    }

    fn note_start(&self, run: &RunId) {
        *self.run.lock().unwrap() = Some(run.to_string());
        if let Some(request) = self.life.world.evidence().run(run.as_str()).request.clone() {
            let _ = self.begun.set(request);
        }
    }

    async fn reply(&self, text: &str) -> Result<(), ReplyError> {
        let call = self.life.begin("reply").await;
        if !call.is_undelivered {
            let mut evidence = self.life.world.evidence();
            if text.starts_with(PASSED_ON) {
                let run = text.rsplit_once(RUN_PAGE).map(|(_, run)| run.to_owned());
                let passed_on = PassedOn {
                    run,
                    through: self.life.name.clone(),
                    number: call.number,
                };
                evidence.passed_on.insert(self.to().clone(), passed_on);
            } else if text.contains(RETURNED) {
                // On the run's own channel the text contains the message.
                let named = script::ids(text);
                evidence.returned.extend(if named.is_empty() {
                    vec![self.to().clone()]
                } else {
                    named
                });
            } else {
                let run = self.run.lock().unwrap().clone();
                let through = self.life.name.clone();
                let has_permit = run
                    .as_ref()
                    .is_some_and(|run| evidence.run(run).has_permit.contains(&through));
                let is_without_permit = !has_permit && evidence.unanswered.contains(&through);
                let last_answer = evidence
                    .last_answer
                    .get(&through)
                    .copied()
                    .unwrap_or_default();
                evidence.delivered.push(Delivered {
                    to: self.to().clone(),
                    run,
                    text: text.to_owned(),
                    through,
                    number: call.number,
                    is_without_permit,
                    last_answer,
                });
            }
        }
        self.life.end_call(&call).await;
        if call.is_undelivered {
            Err(ReplyError("as planned".into()))
        } else {
            Ok(())
        }
    }
}

#[async_trait]
impl Channel for ReplyChannel {
    fn traits(&self) -> ChannelTraits {
        ChannelTraits::PATIENT
    }

    async fn history(&self) -> Vec<HistoryTurn> {
        Vec::new()
    }

    async fn send(&self, event: ChannelEvent) -> Result<(), ReplyError> {
        if let ChannelEvent::RunStarted(run) = &event {
            self.note_start(run);
        }
        match event.into_text() {
            Some(text) => self.reply(&text).await,
            None => Ok(()),
        }
    }
}

/// Reply channel to a reclaimed run's requester.
pub(crate) struct Reopened(pub(crate) Arc<Lifetime>);

impl Channels for Reopened {
    fn reopen(&self, run: &LiveRun) -> Option<Arc<dyn Channel>> {
        let to = script::ids(run.meta["label"].as_str()?).pop()?;
        Some(Arc::new(ReplyChannel::new(
            Arc::clone(&self.0),
            to,
            Some(&run.run_id),
        )))
    }
}
