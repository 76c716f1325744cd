//! Requests that need no ownership: read a live run, queue a follow-up, request a stop.

use serde_json::{Value, json};

use super::rules::Rules;
use super::{Model, answer::Answer, row::Row};
use crate::ledger::expected::Expected;
use crate::ledger::operation::message_json;
use crate::ledger::payload::Name;

/// Modes that `/runs/stop` accepts.
const MODES: [&str; 2] = ["soft", "hard"];

impl Model {
    pub(super) fn live(&self) -> Expected {
        let mut rows: Vec<_> = self.live.values().collect();
        rows.sort_by_key(|row| row.claim.started_at);
        Expected::ok(json!({ "runs": rows.into_iter().map(Row::json).collect::<Vec<_>>() }))
    }

    pub(super) fn inbox(&mut self, run: Name, message: u8) -> Answer {
        Rules::default().run(run, "runId").hold()?;
        let row = self.live.get_mut(run).ok_or_else(not_live)?;
        row.inbox.push(message_json(message));
        Ok(Expected::ok(json!({ "ok": true, "seq": row.inbox.len() })))
    }

    pub(super) fn stop(&mut self, run: Name, mode: Name, now: i64) -> Answer {
        Rules::default()
            .run(run, "runId")
            .that(MODES.contains(&mode), "mode")
            .hold()?;
        let row = self.live.get_mut(run).ok_or_else(not_live)?;
        row.stop = Some(mode);
        Ok(Expected::ok(
            json!({ "ok": true, "ownerLive": row.lease_until > now }),
        ))
    }

    /// Decided: a finished run's events are returned too, as long as its record is visible.
    pub(super) fn live_events(&self, run: Name, now: i64) -> Answer {
        Rules::default().run(run, "runId").hold()?;
        let known = self.live.contains_key(run) || self.visible(run, now).is_some();
        let events: Vec<Value> = if known {
            self.typed_events(run)
        } else {
            Vec::new()
        };
        Ok(Expected::ok(json!({ "events": events })))
    }
}

fn not_live() -> Expected {
    Expected::ok(json!({ "ok": false }))
}
