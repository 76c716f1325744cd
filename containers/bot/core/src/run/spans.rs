//! A run's span records: paired start and end events (docs/reference/events.md#spans).

use std::sync::atomic::{AtomicU64, Ordering};

use ars_bot_ports::{Clock, trace};
use ars_events::{EventBody, SpanStatus};
use ars_types::UnixMillis;
use serde_json::{Map, Value};

use crate::registry::RunHandle;

/// A run's spans. Ids are counters, unique within the run.
#[derive(Debug, Default)]
pub struct Spans {
    minted: AtomicU64,
}

/// A started span, not yet ended.
#[derive(Debug, Clone)]
pub struct Span {
    id: String,
    parent: Option<String>,
    name: String,
    started_at: UnixMillis,
}

impl Span {
    /// A span that another process started.
    pub fn begun(id: &str, name: &str, started_at: UnixMillis) -> Self {
        Self {
            id: id.to_owned(),
            parent: None,
            name: name.to_owned(),
            started_at,
        }
    }

    /// Returns the id, which is the children's parent id.
    pub fn id(&self) -> &str {
        &self.id
    }
}

/// How a span ended.
#[derive(Debug, Clone, PartialEq)]
pub enum SpanResult {
    /// The work succeeded.
    Ok,
    /// It succeeded, with attributes.
    OkWith(Map<String, Value>),
    /// The work failed, with a single-word error.
    Failed(String),
}

impl SpanResult {
    /// Returns the result for work that may have failed.
    pub fn from_error(error: Option<String>) -> Self {
        error.map_or(Self::Ok, Self::Failed)
    }
}

/// A span that ends at the latest when it is dropped.
pub struct OpenSpan<'a> {
    spans: &'a Spans,
    run: &'a RunHandle,
    clock: &'a dyn Clock,
    span: Option<Span>,
}

impl OpenSpan<'_> {
    /// Ends the span after success.
    pub fn end(self) {
        self.end_with(SpanResult::Ok);
    }

    /// Ends the span with this result.
    pub fn end_with(mut self, result: SpanResult) {
        if let Some(span) = self.span.take() {
            self.spans.end(self.run, span, result, self.clock.now());
        }
    }
}

impl Drop for OpenSpan<'_> {
    fn drop(&mut self) {
        if let Some(span) = self.span.take() {
            self.spans.end(
                self.run,
                span,
                SpanResult::Failed("cancelled".to_owned()),
                self.clock.now(),
            );
        }
    }
}

impl Spans {
    /// Continues a run's spans after the first ids, which another process used.
    pub fn after(minted: u64) -> Self {
        Self {
            minted: AtomicU64::new(minted),
        }
    }

    /// Returns the next id.
    pub fn mint(&self) -> String {
        format!("s{}", self.minted.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Starts a span that ends on drop, so that aborted work leaves no open span.
    pub fn open<'a>(
        &'a self,
        run: &'a RunHandle,
        parent: Option<&str>,
        name: impl Into<String>,
        clock: &'a dyn Clock,
    ) -> OpenSpan<'a> {
        let span = self.start(run, parent, name, clock.now());
        OpenSpan {
            spans: self,
            run,
            clock,
            span: Some(span),
        }
    }

    /// Starts a span and publishes the start.
    pub fn start(
        &self,
        run: &RunHandle,
        parent: Option<&str>,
        name: impl Into<String>,
        now: UnixMillis,
    ) -> Span {
        let span = Span {
            id: self.mint(),
            parent: parent.map(str::to_owned),
            name: trace::span_name(&name.into()),
            started_at: now,
        };
        let start = EventBody::SpanStart {
            span_id: span.id.clone(),
            parent_span_id: span.parent.clone(),
            name: span.name.clone(),
            attrs: None,
        };
        run.publish_at(start, now);
        span
    }

    /// Publishes the span's end.
    pub fn end(&self, run: &RunHandle, span: Span, result: SpanResult, now: UnixMillis) {
        let (status, attrs, error) = match result {
            SpanResult::Ok => (SpanStatus::Ok, None, None),
            SpanResult::OkWith(attrs) => (SpanStatus::Ok, Some(attrs), None),
            SpanResult::Failed(error) => (SpanStatus::Error, None, Some(error)),
        };
        let end = EventBody::SpanEnd {
            span_id: span.id,
            parent_span_id: span.parent,
            name: span.name,
            attrs,
            started_at: span.started_at,
            duration_ms: now.saturating_sub(span.started_at).max(0),
            status,
            error,
        };
        trace::ended(run.id(), &end);
        run.publish_at(end, now);
    }
}
