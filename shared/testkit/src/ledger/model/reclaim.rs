//! Hands runs off and reclaims them between generations.

use serde_json::{Value, json};

use super::rules::Rules;
use super::{
    Model,
    answer::Answer,
    row::{Phase, Row},
};
use crate::ledger::expected::Expected;
use crate::ledger::payload::Name;

impl Model {
    pub(super) fn handoff(&mut self, generation: Name, runs: &[Name]) -> Answer {
        let rules = Rules::default().generation(generation);
        runs.iter()
            .fold(rules, |rules, run| rules.run(run, "runIds"))
            .hold()?;
        let mut marked = Vec::new();
        for run in runs {
            let row = self.live.get_mut(run);
            if let Some(row) = row.filter(|row| row.owner == generation && row.phase == Phase::Live)
            {
                row.phase = Phase::Handoff;
                marked.push(*run);
            }
        }
        Ok(Expected::ok(json!({ "marked": marked })))
    }

    pub(super) fn reclaim(&mut self, generation: Name, lease_ms: i64, now: i64) -> Answer {
        Rules::default()
            .generation(generation)
            .lease(lease_ms)
            .hold()?;
        let free = |row: &&mut Row| {
            row.owner != generation && (row.phase == Phase::Handoff || row.lease_until <= now)
        };
        let runs: Vec<Value> = self
            .live
            .values_mut()
            .filter(free)
            .map(|row| row.take(generation, now + lease_ms))
            .collect();
        Ok(Expected::ok(json!({ "runs": runs })))
    }
}

impl Row {
    fn take(&mut self, generation: Name, lease_until: i64) -> Value {
        let from = self.phase;
        self.owner = generation;
        self.lease_until = lease_until;
        self.phase = Phase::Live;
        let last = self.steps.values().next_back();
        let consumed = last.map_or(0, |(consumed, _)| *consumed);
        let unread = (1..).zip(&self.inbox).filter(|(seq, _)| *seq > consumed);
        let inbox: Vec<_> = unread
            .map(|(seq, message)| json!({ "seq": seq, "message": message }))
            .collect();
        json!({
            "row": self.json(), "reclaimedFrom": from.word(), "lastStep": last.map(|(_, record)| record),
            "inbox": inbox, "jobs": [],
        })
    }
}
