//! One audit line for each invocation.

use std::sync::{Arc, Mutex};

use serde_json::json;
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

use super::support::{desk, none, operator, slack, token};

/// Collects the fields of audit lines.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.push_str(&format!("{}={value:?} ", field.name()));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push_str(&format!("{}={value} ", field.name()));
    }
}

impl Subscriber for Lines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(String::new());
        event.record(&mut fields);
        if fields.0.contains("message=command invoked") {
            self.0.lock().unwrap().push(fields.0.replace("message=command invoked ", "").trim().to_owned());
        }
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[tokio::test]
async fn each_invocation_writes_one_line() {
    let lines = Lines::default();
    let _guard = tracing::subscriber::set_default(lines.clone());
    let desk = desk();
    desk.invoke(&operator(), "status.show", none()).await.unwrap();
    desk.invoke(&slack(), "runs.stop", json!({"id": "canary", "mode": "soft"})).await.unwrap_err();
    desk.invoke(&operator(), "runs.stop", json!({"id": "canary"})).await.unwrap_err();
    desk.invoke(&operator(), "runs.get", json!({"id": "canary"})).await.unwrap_err();
    desk.invoke(&token(&["dispatch"], None), "canary secret!", none()).await.unwrap_err();
    desk.says(&slack(), "config help").await.unwrap().unwrap();
    let expected = [
        "command=status.show caller_kind=access caller=access:ops surface=api effect=read outcome=ok",
        "command=runs.stop caller_kind=chat caller=slack:U1 surface=chat effect=destructive outcome=unauthorized \
         decided_by=registry reason=missing-grant",
        "command=runs.stop caller_kind=access caller=access:ops surface=api effect=destructive \
         outcome=invalid_input decided_by=registry",
        "command=runs.get caller_kind=access caller=access:ops surface=api effect=read outcome=not_found \
         decided_by=handler",
        "command=malformed caller_kind=mcp caller=mcp:ann surface=mcp outcome=not_found decided_by=registry",
        "command=help.show caller_kind=chat caller=slack:U1 surface=chat effect=read outcome=ok",
    ];
    assert_eq!(*lines.0.lock().unwrap(), expected);
}
