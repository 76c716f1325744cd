//! Plays a sequence to a subject: requests in order, some sent again later, some cut off by a crash and repeated as
//! the bot repeats them, the clock moving either way in between.

use std::fmt;

use serde_json::{Value, json};

use super::operation::Operation;
use super::world::World;
use crate::faulty::Fault;

/// A real store behind its routes.
pub trait Subject {
    /// Sends a request and answers status and body.
    fn call(&mut self, path: &str, body: &Value, now: i64) -> (u16, Value);

    /// The same, and the process dies at or after the fault, as far as the subject can make it.
    fn call_and_crash(&mut self, path: &str, body: &Value, now: i64, fault: Fault) -> Outcome;

    /// Does what the shell does every few hours.
    fn sweep(&mut self, now: i64);

    /// The time it goes by, given what the sequence's clock says.
    fn now(&self, scripted: i64) -> i64 {
        scripted
    }
}

/// How a request ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// With an answer.
    Answered(u16, Value),
    /// Without one: the process died.
    Lost {
        /// Whether what it wrote was committed before.
        kept: bool,
    },
}

/// Moments in order.
#[derive(Clone, PartialEq)]
pub struct Sequence(pub Vec<Moment>);

impl Sequence {
    /// What the clock says at the end, having begun here.
    pub fn end(&self, base: i64) -> i64 {
        base + self.0.iter().map(|moment| moment.jump_ms).sum::<i64>()
    }
}

/// A line each: a failing case is to be read.
impl fmt::Debug for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, Moment { jump_ms, action, crash }) in self.0.iter().enumerate() {
            let (jump, crash) = ((*jump_ms != 0).then_some(jump_ms), crash.as_ref());
            let jump = jump.map(|jump| format!("{jump:+} ms, ")).unwrap_or_default();
            let crash = crash.map(|crash| format!(", {crash:?}")).unwrap_or_default();
            // Never the spread-out form, which the caller may have asked for.
            writeln!(f, "{number:>4}: {jump}{}{crash}", format_args!("{action:?}"))?;
        }
        Ok(())
    }
}

/// What happens next.
#[derive(Debug, Clone, PartialEq)]
pub struct Moment {
    /// How far the clock moves before, backwards if negative.
    pub jump_ms: i64,
    /// What is sent.
    pub action: Action,
    /// Where the process dies.
    pub crash: Option<Fault>,
}

/// What is sent at a [`Moment`].
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// A new request.
    Send(Operation),
    /// One sent before, counted from the first: a duplicate, or one that was long under way.
    Again(usize),
}

/// Watches a sequence; the first error ends it.
pub trait Observer<S> {
    /// Before each attempt.
    fn before(&mut self, subject: &mut S, operation: &Operation, now: i64) {
        let _ = (subject, operation, now);
    }

    /// After each attempt.
    fn after(&mut self, subject: &mut S, attempt: Attempt<'_>) -> Result<(), String>;
}

/// A request that was sent once, and how it ended.
#[derive(Debug, Clone, Copy)]
pub struct Attempt<'a> {
    /// What was sent.
    pub operation: &'a Operation,
    /// The subject's time.
    pub now: i64,
    /// How it ended.
    pub outcome: &'a Outcome,
}

/// Plays a sequence; an error names the moment and what was sent.
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

/// Sends a request; one whose answer was lost is sent again.
fn send<S: Subject>(
    subject: &mut S,
    observer: &mut impl Observer<S>,
    operation: &Operation,
    now: i64,
    crash: Option<Fault>,
) -> Result<(), String> {
    observer.before(subject, operation, now);
    let outcome = attempt(subject, operation, now, crash);
    observer.after(subject, Attempt { operation, now, outcome: &outcome })?;
    match outcome {
        Outcome::Answered(..) => Ok(()),
        Outcome::Lost { .. } => send(subject, observer, operation, now, None),
    }
}

fn attempt<S: Subject>(subject: &mut S, operation: &Operation, now: i64, crash: Option<Fault>) -> Outcome {
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
