//! Log lines: a JSON object per line, each field redacted (docs/logging.md).

use std::{io::Write as _, sync::Arc};

use ars_events::Redactor;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tracing::{
    Event, Subscriber,
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{
    Layer,
    fmt::MakeWriter,
    layer::Context,
    registry::{LookupSpan, SpanRef},
};

use crate::fields::Fields;

/// Fields in every line.
const FIXED: [&str; 4] = ["timestamp", "level", "target", "spans"];

/// Writes events as lines.
#[derive(Clone)]
pub(crate) struct Lines<W> {
    redactor: Arc<Redactor>,
    writer: W,
}

impl<W: for<'w> MakeWriter<'w>> Lines<W> {
    pub(crate) const fn new(redactor: Arc<Redactor>, writer: W) -> Self {
        Self { redactor, writer }
    }

    /// Writes a line. `fields` must be redacted; a field named like a fixed field gets an
    /// underscore.
    pub(crate) fn write_line(
        &self,
        level: tracing::Level,
        target: &str,
        fields: Map<String, Value>,
        spans: Vec<Value>,
    ) {
        let mut line = Map::new();
        line.insert("timestamp".into(), json!(now()));
        line.insert("level".into(), json!(level.as_str()));
        for (name, value) in fields {
            let name = if FIXED.contains(&name.as_str()) {
                format!("{name}_")
            } else {
                name
            };
            line.insert(name, value);
        }
        line.insert("target".into(), json!(target));
        if !spans.is_empty() {
            line.insert("spans".into(), Value::Array(spans));
        }
        self.write(&Value::Object(line));
    }

    fn write(&self, line: &Value) {
        // A single write for the line keeps other threads' lines apart. A failing log has nowhere
        // to be reported.
        let _ = self
            .writer
            .make_writer()
            .write_all(format!("{line}\n").as_bytes());
    }
}

impl<S, W> Layer<S> for Lines<W>
where
    S: Subscriber + for<'l> LookupSpan<'l>,
    W: for<'w> MakeWriter<'w> + 'static,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let fields = Fields::read(&self.redactor, |visitor| attributes.record(visitor));
        span.extensions_mut().insert(SpanFields(fields));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let fields = Fields::read(&self.redactor, |visitor| values.record(visitor));
        if let Some(SpanFields(known)) = span.extensions_mut().get_mut() {
            known.extend(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let fields = Fields::read(&self.redactor, |visitor| event.record(visitor));
        let scope = context.event_scope(event).into_iter().flatten();
        let spans = scope.map(|span| outline(&span)).collect();
        let metadata = event.metadata();
        self.write_line(*metadata.level(), metadata.target(), fields, spans);
    }
}

/// Fields from an enclosing `tracing` span.
struct SpanFields(Map<String, Value>);

fn outline<'l, S: LookupSpan<'l>>(span: &SpanRef<'l, S>) -> Value {
    let mut outline = Map::from_iter([("name".to_owned(), json!(span.name()))]);
    if let Some(SpanFields(known)) = span.extensions().get() {
        outline.extend(known.clone());
    }
    Value::Object(outline)
}

/// UTC to the microsecond.
fn now() -> String {
    format!("{:.6}", Timestamp::now())
}
