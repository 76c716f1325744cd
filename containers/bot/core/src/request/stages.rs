//! A bounded list of request stages before the run exists (docs/reference/events.md#spans).

use std::collections::VecDeque;

use ars_events::{EventBody, NoteKind};
use ars_types::UnixMillis;

use crate::{
    registry::RunHandle,
    run::{Span, SpanResult, Spans},
};

/// Most span records before a run.
const MAX_RECORDS: usize = 512;
/// Maximum size of these records in bytes.
const MAX_BYTES: usize = 256 << 10;
/// Records at the beginning that are never dropped.
const FIRST_KEPT: usize = 64;
/// A stage is a start and an end.
const RECORDS_PER_STAGE: usize = 2;
/// Maximum record size in bytes. A record's name has at most 64 characters.
const MAX_RECORD_BYTES: usize = 512;

const _: () = assert!(
    MAX_RECORDS * MAX_RECORD_BYTES <= MAX_BYTES,
    "the records fit"
);

/// A stage before the run is created, for the run's spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stage {
    pub(crate) name: &'static str,
    pub(crate) started_at: UnixMillis,
    pub(crate) ended_at: UnixMillis,
}

/// The stages in order: the first, and the newest behind them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stages {
    kept: VecDeque<Stage>,
    /// When the first dropped stage starts and the last ends.
    dropped: Option<(UnixMillis, UnixMillis)>,
}

impl Stages {
    /// Adds a stage. Above the bound, drops the oldest behind the first.
    pub(crate) fn push(&mut self, stage: Stage) {
        self.kept.push_back(stage);
        if self.kept.len() * RECORDS_PER_STAGE > MAX_RECORDS
            && let Some(oldest) = self.kept.remove(FIRST_KEPT / RECORDS_PER_STAGE)
        {
            let (from, to) = self.dropped.unwrap_or((oldest.started_at, oldest.ended_at));
            self.dropped = Some((from.min(oldest.started_at), to.max(oldest.ended_at)));
        }
    }

    /// Publishes the spans below the request's span, and a note about dropped stages.
    pub(crate) fn publish(&self, run: &RunHandle, spans: &Spans, request: &Span) {
        for Stage {
            name,
            started_at,
            ended_at,
        } in &self.kept
        {
            let span = spans.start(run, Some(request.id()), *name, *started_at);
            spans.end(run, span, SpanResult::Ok, *ended_at);
        }
        if let Some((from, to)) = self.dropped {
            run.publish(EventBody::RunNote {
                kind: NoteKind::SpansDropped,
                summary: "spans before the run were dropped".to_owned(),
                mode: None,
                actor: None,
                from: u64::try_from(from).ok(),
                to: u64::try_from(to).ok(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use ars_events::SpanStatus;

    use super::*;

    fn stages(count: i64) -> Stages {
        let mut stages = Stages::default();
        for at in 0..count {
            stages.push(Stage {
                name: "dispatch.admission",
                started_at: at,
                ended_at: at + 1,
            });
        }
        stages
    }

    #[test]
    fn first_and_newest_stages_are_kept() {
        let full = stages(256);
        assert_eq!((full.kept.len(), full.dropped), (256, None));
        let over = stages(300);
        let starts: Vec<i64> = over.kept.iter().map(|stage| stage.started_at).collect();
        assert_eq!(starts, (0..32).chain(76..300).collect::<Vec<_>>());
        assert_eq!(over.dropped, Some((32, 76)));
    }

    #[test]
    fn largest_record_is_within_its_bound() {
        let end = EventBody::SpanEnd {
            span_id: format!("s{}", u64::MAX),
            parent_span_id: Some(format!("s{}", u64::MAX)),
            name: "n".repeat(64),
            attrs: None,
            started_at: i64::MAX,
            duration_ms: i64::MAX,
            status: SpanStatus::Ok,
            error: None,
        };
        let numbers = format!(r#","seq":{},"at":{}"#, u64::MAX, i64::MAX);
        assert!(serde_json::to_string(&end).unwrap().len() + numbers.len() <= MAX_RECORD_BYTES);
    }
}
