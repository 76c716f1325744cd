//! Plays a sequence to a subject: requests in order, with duplicates, crashes and retries.
//! The clock changes in both directions.

use std::fmt;

use serde_json::{Value, json};

use super::operation::Operation;
use super::world::World;
use crate::faulty::Fault;

/// A real store behind its routes.
pub trait Subject {
    /// Sends a request. Returns status and body.
    fn call(&mut self, path: &str, body: &Value, now: i64) -> (u16, Value);

    /// Sends a request and crashes the process at or after the fault, as far as the subject supports it.
    fn call_and_crash(&mut self, path: &str, body: &Value, now: i64, fault: Fault) -> Outcome;

    /// Runs the shell's periodic sweep.
    fn sweep(&mut self, now: i64);

    /// Returns the subject's time for the sequence's clock.
    fn now(&self, scripted: i64) -> i64 {
        scripted
    }
}

/// How a request ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Status and body that were returned.
    Answered(u16, Value),
    /// The process died without an answer.
    Lost {
        /// Whether the writes were committed before.
        kept: bool,
    },
}

/// A sequence's steps in order.
#[derive(Clone, PartialEq)]
pub struct Sequence(pub Vec<Moment>);

impl Sequence {
    /// Returns the clock's final time for this start time.
    pub fn end(&self, base: i64) -> i64 {
        base + self.0.iter().map(|moment| moment.jump_ms).sum::<i64>()
    }
}

/// Prints a line per step, so that a failing case is readable.
impl fmt::Debug for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (
            number,
            Moment {
                jump_ms,
                action,
                crash,
            },
        ) in self.0.iter().enumerate()
        {
            let jump = (*jump_ms != 0).then_some(jump_ms);
            let crash = crash.as_ref();
            let jump = jump
                .map(|jump| format!("{jump:+} ms, "))
                .unwrap_or_default();
            let crash = crash
                .map(|crash| format!(", {crash:?}"))
                .unwrap_or_default();
            // Never the multi-line form, even if the caller requested it.
            writeln!(
                f,
                "{number:>4}: {jump}{}{crash}",
                format_args!("{action:?}")
            )?;
        }
        Ok(())
    }
}

/// A step in a sequence.
#[derive(Debug, Clone, PartialEq)]
pub struct Moment {
    /// Clock change before the request. May be negative.
    pub jump_ms: i64,
    /// The request that was sent.
    pub action: Action,
    /// Where the process crashes.
    pub crash: Option<Fault>,
}

/// A [`Moment`]'s request.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Send a new request.
    Send(Operation),
    /// Repeat an earlier request, by index from the first: a duplicate or delayed request.
    Again(usize),
}

/// Observes a sequence. The first error ends it.
pub trait Observer<S> {
    /// Called before each attempt.
    fn before(&mut self, subject: &mut S, operation: &Operation, now: i64) {
        let _ = (subject, operation, now);
    }

    /// Called after each attempt.
    fn after(&mut self, subject: &mut S, attempt: Attempt<'_>) -> Result<(), String>;
}

/// A single request attempt, with the result.
#[derive(Debug, Clone, Copy)]
pub struct Attempt<'a> {
    /// The request that was sent.
    pub operation: &'a Operation,
    /// The subject's time.
    pub now: i64,
    /// How the attempt ended.
    pub outcome: &'a Outcome,
}

/// Plays a sequence. The error contains the step and the request.
pub fn play<S: Subject>(
    subject: &mut S,
    observer: &mut impl Observer<S>,
    world: &World,
    sequence: &Sequence,
) -> Result<(), String> {
    let mut clock = world.base;
    let mut sent: Vec<&Operation> = Vec::new();
    for (number, moment) in sequence.0.iter().enumerate() {
        clock += moment.jump_ms;
        let operation = match &moment.action {
            Action::Send(operation) => {
                sent.push(operation);
                operation
            }
            Action::Again(index) => match sent.get(index % sent.len().max(1)) {
                Some(operation) => operation,
                None => continue,
            },
        };
        let now = subject.now(clock);
        send(subject, observer, operation, now, moment.crash)
            .map_err(|error| format!("moment {number}, at {now}: {operation:?}\n{error}"))?;
    }
    Ok(())
}

/// Sends a request, and repeats it once if the answer was lost.
fn send<S: Subject>(
    subject: &mut S,
    observer: &mut impl Observer<S>,
    operation: &Operation,
    now: i64,
    crash: Option<Fault>,
) -> Result<(), String> {
    observer.before(subject, operation, now);
    let outcome = attempt(subject, operation, now, crash);
    observer.after(
        subject,
        Attempt {
            operation,
            now,
            outcome: &outcome,
        },
    )?;
    match outcome {
        Outcome::Answered(..) => Ok(()),
        Outcome::Lost { .. } => send(subject, observer, operation, now, None),
    }
}

fn attempt<S: Subject>(
    subject: &mut S,
    operation: &Operation,
    now: i64,
    crash: Option<Fault>,
) -> Outcome {
    let Some(path) = operation.path() else {
        subject.sweep(now);
        return Outcome::Answered(200, json!({ "ok": true }));
    };
    match crash {
        Some(fault) => subject.call_and_crash(path, &operation.body(), now, fault),
        None => {
            let (status, body) = subject.call(path, &operation.body(), now);
            Outcome::Answered(status, body)
        }
    }
}
