//! The observer that compares a subject with the model.

use super::model::Model;
use super::operation::Operation;
use super::play::{Attempt, Observer, Outcome, Subject};
use super::world::World;

/// How far past the sequence's clock the audit reclaims, past every lease: ten years.
const FAR_MS: i64 = 315_360_000_000;
/// The audit's generation, which owns no run.
const AUDITOR: &str = "auditor";

/// A model that receives the same requests as the subject.
#[derive(Debug, Default)]
pub struct Twin {
    model: Model,
    slack_ms: i64,
}

impl Twin {
    /// Returns a twin for a subject with a separate clock, which may differ by this much.
    pub fn with_slack(slack_ms: i64) -> Self {
        Self {
            slack_ms,
            ..Self::default()
        }
    }

    /// Compares all readable state, and then how a reclaim, which ends the sequence, turns out.
    pub fn audit<S: Subject>(
        &mut self,
        subject: &mut S,
        world: &World,
        scripted: i64,
    ) -> Result<(), String> {
        let now = subject.now(scripted);
        self.compare(subject, now)?;
        let far = Some(world.base + FAR_MS);
        self.ask(
            subject,
            &Operation::Reclaim {
                generation: AUDITOR,
                lease_ms: 1000,
                now: far,
            },
            now,
        )
    }

    /// Compares all readable state.
    fn compare<S: Subject>(&mut self, subject: &mut S, now: i64) -> Result<(), String> {
        reads()
            .iter()
            .try_for_each(|operation| self.ask(subject, operation, now))
    }

    fn ask<S: Subject>(
        &mut self,
        subject: &mut S,
        operation: &Operation,
        now: i64,
    ) -> Result<(), String> {
        let Some(path) = operation.path() else {
            return Ok(());
        };
        let (status, body) = subject.call(path, &operation.body(), now);
        let checked = self
            .model
            .apply(operation, now)
            .check(status, &body, self.slack_ms);
        checked.map_err(|error| format!("then {operation:?}\n{error}"))
    }
}

impl<S: Subject> Observer<S> for Twin {
    fn after(&mut self, subject: &mut S, attempt: Attempt<'_>) -> Result<(), String> {
        let Attempt {
            operation,
            now,
            outcome,
        } = attempt;
        match outcome {
            Outcome::Answered(status, body) => {
                return self
                    .model
                    .apply(operation, now)
                    .check(*status, body, self.slack_ms);
            }
            Outcome::Lost { kept: true } => drop(self.model.apply(operation, now)),
            Outcome::Lost { kept: false } => {}
        }
        // Before the request is repeated, because the retry would complete a partial write.
        self.compare(subject, now)
    }
}

fn reads() -> Vec<Operation> {
    let mut operations = vec![Operation::Live, Operation::List { limit: None }];
    for &run in World::RUNS {
        operations.extend([
            Operation::LiveEvents { run },
            Operation::Get { run },
            Operation::TranscriptRead { run },
        ]);
    }
    operations
}
