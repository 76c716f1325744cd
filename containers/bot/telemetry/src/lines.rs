//! Log lines: JSON, one a line, each field cleaned before it is written (docs/logging.md).

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

use crate::{
    ended::{Ended, SpanLog, Told, is_span},
    fields::Fields,
};

/// What every line has; a field of the same name goes by another.
const OWN: [&str; 4] = ["timestamp", "level", "target", "spans"];

/// Writes events as lines.
pub(crate) struct Lines<W> {
    redactor: Arc<Redactor>,
    spans: SpanLog,
    writer: W,
}

impl<W: for<'w> MakeWriter<'w>> Lines<W> {
    pub(crate) const fn new(redactor: Arc<Redactor>, spans: SpanLog, writer: W) -> Self {
        Self { redactor, spans, writer }
    }

    fn fields(&self, event: &Event<'_>) -> Option<Map<String, Value>> {
        if is_span(event.metadata()) {
            let told = Told::read(event).filter(|told| told.is_logged(self.spans))?;
            return told.clean(&self.redactor).map(Ended::fields);
        }
        Some(Fields::read(&self.redactor, |visitor| event.record(visitor)))
    }

    fn write(&self, line: &Value) {
        // One write a line, so that lines of other threads cannot come in between. A log that cannot be written has
        // nowhere to be reported.
        let _ = self.writer.make_writer().write_all(format!("{line}\n").as_bytes());
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
        span.extensions_mut().insert(Around(fields));
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let fields = Fields::read(&self.redactor, |visitor| values.record(visitor));
        if let Some(Around(known)) = span.extensions_mut().get_mut() {
            known.extend(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let Some(fields) = self.fields(event) else { return };
        let metadata = event.metadata();
        let mut line = Map::new();
        line.insert("timestamp".into(), json!(now()));
        line.insert("level".into(), json!(metadata.level().as_str()));
        for (name, value) in fields {
            let name = if OWN.contains(&name.as_str()) { format!("{name}_") } else { name };
            line.insert(name, value);
        }
        line.insert("target".into(), json!(metadata.target()));
        let around: Vec<_> =
            context.event_scope(event).into_iter().flatten().map(|span| outline(&span)).collect();
        if !around.is_empty() {
            line.insert("spans".into(), Value::Array(around));
        }
        self.write(&Value::Object(line));
    }
}

/// The fields of a span that events happen in.
struct Around(Map<String, Value>);

fn outline<'l, S: LookupSpan<'l>>(span: &SpanRef<'l, S>) -> Value {
    let mut outline = Map::from_iter([("name".to_owned(), json!(span.name()))]);
    if let Some(Around(known)) = span.extensions().get() {
        outline.extend(known.clone());
    }
    Value::Object(outline)
}

/// UTC to the microsecond.
fn now() -> String {
    format!("{:.6}", Timestamp::now())
}
