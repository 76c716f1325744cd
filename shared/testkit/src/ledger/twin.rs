//! The observer that holds a subject to the model.

use super::expected::Expected;
use super::model::Model;
use super::operation::Operation;
use super::play::{Observer, Outcome, Subject};
use super::world::World;

/// How far past every lease, and every clock of a sequence, the audit's reclaim stands: ten years.
const FAR_MS: i64 = 315_360_000_000;
/// The audit's generation, which owns nothing.
const AUDITOR: &str = "auditor";

/// A model that is told of everything the subject is asked.
#[derive(Debug, Default)]
pub struct Twin {
    model: Model,
    slack_ms: i64,
}

impl Twin {
    /// A twin of a subject whose own clock may be this far behind what it is told.
    pub fn with_slack(slack_ms: i64) -> Self {
        Self { slack_ms, ..Self::default() }
    }

    /// Reads everything a subject shows, and what a reclaim shows last.
    pub fn audit<S: Subject>(&mut self, subject: &mut S, world: &World, scripted: i64) -> Result<(), String> {
        for operation in audit(world) {
            let (now, Some(path)) = (subject.now(scripted), operation.path()) else { continue };
            let (status, body) = subject.call(path, &operation.body(), now);
            let expected = self.model.apply(&operation, now);
            let checked = expected.check(status, &body, self.slack_ms);
            checked.map_err(|error| format!("audit: {operation:?}\n{error}"))?;
        }
        Ok(())
    }

    fn check(&mut self, operation: &Operation, now: i64, outcome: &Outcome) -> Result<(), String> {
        match outcome {
            Outcome::Answered(status, body) => {
                let expected: Expected = self.model.apply(operation, now);
                expected.check(*status, body, self.slack_ms)
            }
            Outcome::Lost { kept: true } => {
                self.model.apply(operation, now);
                Ok(())
            }
            Outcome::Lost { kept: false } => Ok(()),
        }
    }
}

impl<S: Subject> Observer<S> for Twin {
    fn after(
        &mut self,
        _subject: &mut S,
        operation: &Operation,
        now: i64,
        outcome: &Outcome,
    ) -> Result<(), String> {
        self.check(operation, now, outcome)
    }
}

fn audit(world: &World) -> Vec<Operation> {
    let mut operations = vec![Operation::Live, Operation::List { limit: None }];
    for &run in World::RUNS {
        operations.extend([
            Operation::LiveEvents { run },
            Operation::Get { run },
            Operation::TranscriptRead { run },
        ]);
    }
    let now = Some(world.base + FAR_MS);
    operations.push(Operation::Reclaim { generation: AUDITOR, lease_ms: 1000, now });
    operations
}
