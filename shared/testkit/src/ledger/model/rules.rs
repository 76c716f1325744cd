//! Validates requests.

use crate::ledger::expected::Expected;
use crate::ledger::payload::{Event, EventKind, Name, Record, Writer};

/// Bounds for `leaseMs`, in milliseconds.
const LEASE_MS: std::ops::RangeInclusive<i64> = 1000..=3_600_000;
/// Maximum length of a run id.
const RUN_MAX: usize = 64;
/// Maximum length of a generation.
const GENERATION_MAX: usize = 128;
/// Maximum length of a thread key.
const THREAD_MAX: usize = 256;
/// Maximum size of an appended event's JSON in bytes.
const EVENT_BYTES: usize = 65_536;

/// Collects the fields that break a rule, because a store may name any of them.
#[derive(Default)]
pub(super) struct Rules(Vec<&'static str>);

impl Rules {
    pub(super) fn that(mut self, holds: bool, field: &'static str) -> Self {
        if !holds {
            self.0.push(field);
        }
        self
    }

    pub(super) fn run(self, run: Name, field: &'static str) -> Self {
        self.that(matches(run, RUN_MAX, "_-"), field)
    }

    pub(super) fn generation(self, generation: Name) -> Self {
        self.that(matches(generation, GENERATION_MAX, "_.:-"), "gen")
    }

    pub(super) fn writer(self, writer: &Writer) -> Self {
        self.run(writer.run, "runId").generation(writer.generation)
    }

    pub(super) fn thread(self, thread: Name) -> Self {
        self.that(
            (1..=THREAD_MAX).contains(&thread.chars().count()),
            "threadKey",
        )
    }

    pub(super) fn lease(self, lease_ms: i64) -> Self {
        self.that(LEASE_MS.contains(&lease_ms), "leaseMs")
    }

    /// Checks the events in an append, which need no type.
    pub(super) fn appended(self, events: &[Event]) -> Self {
        let fits = |event: &Event| match event.kind {
            EventKind::Bytes(bytes) => bytes <= EVENT_BYTES,
            EventKind::Text(_) | EventKind::Untyped => true,
        };
        self.that(
            events.iter().all(|event| event.seq >= 1 && fits(event)),
            "events",
        )
    }

    /// Checks the record in a put or finish. Its events need a type but no seq.
    pub(super) fn record(self, record: &Record) -> Self {
        self.run(record.id, "id")
            .that(STATUSES.contains(&record.status), "status")
            .that(record.events.iter().all(Event::is_typed), "events")
    }

    pub(super) fn hold(self) -> Result<(), Expected> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(Expected::Malformed(self.0))
        }
    }
}

/// Statuses that a finished run may have.
const STATUSES: [&str; 5] = [
    "completed",
    "stopped_soft",
    "stopped_hard",
    "failed",
    "interrupted",
];

fn matches(name: &str, max: usize, signs: &str) -> bool {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || signs.contains(letter);
    (1..=max).contains(&name.len()) && name.chars().all(allowed)
}
