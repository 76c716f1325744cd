//! Flushes many runs (docs/decisions/0007): for each an append, a heartbeat and unread follow-ups.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::rules::Rules;
use super::{Model, answer::Answer};
use crate::ledger::expected::Expected;
use crate::ledger::payload::{Name, RunFlush};

impl Model {
    pub(super) fn flush(
        &mut self,
        generation: Name,
        lease_ms: Option<i64>,
        runs: &[RunFlush],
        now: i64,
    ) -> Answer {
        let rules = Rules::default().generation(generation);
        let rules = lease_ms.into_iter().fold(rules, Rules::lease);
        let of_run = |rules: Rules, flush: &RunFlush| {
            rules
                .run(flush.run, "runId")
                .that(flush.after >= 0, "inboxAfter")
                .appended(&flush.events)
        };
        let named: BTreeSet<_> = runs.iter().map(|flush| flush.run).collect();
        runs.iter()
            .fold(rules, of_run)
            .that(named.len() == runs.len(), "runId")
            .hold()?;
        let until = lease_ms.map(|lease_ms| now + lease_ms);
        let answers: Vec<_> = runs
            .iter()
            .map(|flush| self.flush_run(generation, until, flush))
            .collect();
        Ok(Expected::ok(json!({ "runs": answers })))
    }

    fn flush_run(&mut self, generation: Name, until: Option<i64>, flush: &RunFlush) -> Value {
        let row = match self.live.get_mut(flush.run) {
            None => return json!({ "runId": flush.run, "ok": false, "reason": "unknown-run" }),
            Some(row) if row.owner != generation => {
                return json!({ "runId": flush.run, "ok": false, "reason": "fenced" });
            }
            Some(row) => row,
        };
        row.lease_until = until.unwrap_or(row.lease_until);
        let stored = self.events.entry(flush.run).or_default();
        stored.extend(flush.events.iter().map(|event| (event.seq, event.json())));
        let unread = (1..).zip(&row.inbox).filter(|(seq, _)| *seq > flush.after);
        let inbox: Vec<_> = unread
            .map(|(seq, message)| json!({ "seq": seq, "message": message }))
            .collect();
        json!({ "runId": flush.run, "ok": true, "stop": row.stop, "phase": row.phase.word(), "inbox": inbox })
    }
}
