//! Applies an operation.

use super::{
    Model,
    answer::{Answer, ok},
};
use crate::ledger::{expected::Expected, operation::Operation};

impl Model {
    /// Applies `operation` at `now` and returns the required response.
    pub fn apply(&mut self, operation: &Operation, now: i64) -> Expected {
        self.answer(operation, now)
            .unwrap_or_else(|refusal| refusal)
    }

    fn answer(&mut self, operation: &Operation, now: i64) -> Answer {
        match operation {
            Operation::Claim(claim) => self.claim(claim, now),
            Operation::Live => Ok(self.live()),
            Operation::Heartbeat { writer, lease_ms } => self.heartbeat(writer, *lease_ms, now),
            Operation::Append { writer, events } => self.append(writer, events),
            Operation::Step { writer, step } => self.step(writer, step),
            Operation::State { writer, state } => self.state(writer, *state),
            Operation::Inbox { run, message } => self.inbox(run, *message),
            Operation::Stop { run, mode } => self.stop(run, mode, now),
            Operation::Handoff { generation, runs } => self.handoff(generation, runs),
            Operation::Finishing { writer } => self.finishing(writer),
            Operation::Finish { writer, record } => self.finish(writer, record, now),
            Operation::Reclaim {
                generation,
                lease_ms,
                now: requested,
            } => self.reclaim(generation, *lease_ms, requested.unwrap_or(now)),
            Operation::Flush {
                generation,
                lease_ms,
                runs,
            } => self.flush(generation, *lease_ms, runs, now),
            Operation::LiveEvents { run } => self.live_events(run, now),
            Operation::Put { record } => self.put(record, now),
            Operation::Get { run } => self.get(run, now),
            Operation::Summary { run } => self.summary(run, now),
            Operation::List { limit } => self.list(*limit, now),
            Operation::Events { run, after, limit } => self.events(run, *after, *limit, now),
            Operation::Delete { run } => self.delete(run),
            Operation::TranscriptOwner { writer } => self.transcript_owner(writer),
            Operation::TranscriptWrite {
                writer,
                rows,
                attachments,
            } => self.transcript_write(writer, rows, attachments),
            Operation::TranscriptRead { run } => self.transcript_read(run),
            Operation::TranscriptClear { run, generation } => {
                self.transcript_clear(run, *generation)
            }
            Operation::Sweep => {
                self.trim(now);
                Ok(ok())
            }
        }
    }
}
