//! The news of many runs at once (docs/decisions/0007): for each what an append and a heartbeat do (section 9.3, 9.4),
//! and the follow-ups that reclaiming tells too.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::rules::Rules;
use super::{Answer, Model};
use crate::ledger::expected::Expected;
use crate::ledger::payload::{Name, News};

impl Model {
    pub(super) fn flush(
        &mut self,
        generation: Name,
        lease_ms: Option<i64>,
        runs: &[News],
        now: i64,
    ) -> Answer {
        let rules = Rules::default().generation(generation);
        let rules = lease_ms.into_iter().fold(rules, Rules::lease);
        let of_run = |rules: Rules, news: &News| {
            rules.run(news.run, "runId").that(news.after >= 0, "inboxAfter").appended(&news.events)
        };
        let named: BTreeSet<_> = runs.iter().map(|news| news.run).collect();
        runs.iter().fold(rules, of_run).that(named.len() == runs.len(), "runId").hold()?;
        let until = lease_ms.map(|lease_ms| now + lease_ms);
        let told: Vec<_> = runs.iter().map(|news| self.flush_run(generation, until, news)).collect();
        Ok(Expected::ok(json!({ "runs": told })))
    }

    fn flush_run(&mut self, generation: Name, until: Option<i64>, news: &News) -> Value {
        let row = match self.live.get_mut(news.run) {
            None => return json!({ "runId": news.run, "ok": false, "reason": "unknown-run" }),
            Some(row) if row.owner != generation => {
                return json!({ "runId": news.run, "ok": false, "reason": "fenced" });
            }
            Some(row) => row,
        };
        row.lease_until = until.unwrap_or(row.lease_until);
        let stored = self.events.entry(news.run).or_default();
        stored.extend(news.events.iter().map(|event| (event.seq, event.json())));
        let unread = (1..).zip(&row.inbox).filter(|(seq, _)| *seq > news.after);
        let inbox: Vec<_> = unread.map(|(seq, message)| json!({ "seq": seq, "message": message })).collect();
        json!({ "runId": news.run, "ok": true, "stop": row.stop, "phase": row.phase.word(), "inbox": inbox })
    }
}
