//! Redaction of a whole event: every string in it (docs/reference/events.md#redaction).

use serde_json::{Map, Value};

use super::{assignments::is_secret_name, placeholder::PLACEHOLDER, redactor::Redactor};
use crate::{
    AttachedFile, EventBody, InputSource, SkillUpstream,
    summary::{COMMAND_MAX, OUTPUT_MAX},
};

/// Maximum characters of a span's error.
const SPAN_ERROR_MAX: usize = 200;

impl Redactor {
    /// Cleans every string of the event, including `attrs`, and cuts commands and outputs.
    /// Pass whole texts, or texts that were cut after `clean`.
    #[must_use]
    pub fn redact_event(&self, body: EventBody) -> EventBody {
        redact_all(self, body)
    }
}

/// Redacts an event without configured secrets; see `Redactor::redact_event`.
#[must_use]
pub fn redact_event(body: EventBody) -> EventBody {
    Redactor::default().redact_event(body)
}

/// Redacts every string of the event and cuts those that have a limit.
///
/// The patterns name every field, so that a new field fails to compile until it is handled here.
fn redact_all(redactor: &Redactor, mut body: EventBody) -> EventBody {
    let clean = |text: &mut String| redactor.clean_in_place(text);
    match &mut body {
        EventBody::Input {
            text,
            attachments,
            source,
        } => {
            clean(text);
            for AttachedFile {
                name,
                media_type,
                bytes: _,
            } in attachments
            {
                [name, media_type].into_iter().for_each(clean);
            }
            if let Some(InputSource { url, channel, user }) = source {
                [url, channel, user].into_iter().flatten().for_each(clean);
            }
        }
        EventBody::Context { text } | EventBody::Assistant { text } => clean(text),
        EventBody::Answer { text, raw } => [text].into_iter().chain(raw).for_each(clean),
        EventBody::RunMeta { .. } => redact_meta(redactor, &mut body),
        EventBody::ToolCall { .. } | EventBody::ToolResult { .. } => {
            redact_tool_use(redactor, &mut body);
        }
        // `Actor::new` restricts the characters of an id, but the id may still be a configured secret.
        EventBody::RunNote {
            kind: _,
            summary,
            mode: _,
            actor,
            from: _,
            to: _,
        } => {
            clean(summary);
            actor.iter_mut().for_each(|actor| clean(&mut actor.id));
        }
        EventBody::SkillUse {
            skill,
            description,
            agent,
            source,
            upstream,
            body_bytes: _,
        } => {
            [skill, description, agent]
                .into_iter()
                .chain(source)
                .for_each(clean);
            upstream
                .iter_mut()
                .flat_map(|SkillUpstream { repo, commit }| [repo, commit])
                .for_each(clean);
        }
        EventBody::ReviewArtifact {
            artifact: _,
            powered_by: _,
            base_ref,
            diff,
            truncated: _,
            summary,
            meat_tokens: _,
        } => [base_ref, diff].into_iter().chain(summary).for_each(clean),
        EventBody::PrDescription { description } => clean_map(redactor, description),
        EventBody::PrOpened {
            url,
            number: _,
            created: _,
        } => clean(url),
        EventBody::SpanStart { .. } | EventBody::SpanEnd { .. } => redact_span(redactor, &mut body),
    }
    body
}

/// Redacts the facts of a run.
fn redact_meta(redactor: &Redactor, body: &mut EventBody) {
    let clean = |text: &mut String| redactor.clean_in_place(text);
    if let EventBody::RunMeta {
        agent,
        model,
        effort,
        trace_id,
        repo,
        git_ref,
        head_sha,
        pr: _,
        sandbox: _,
        sandbox_skipped,
        network: _,
        cgroup: _,
        tree: _,
    } = body
    {
        clean(agent);
        let texts = [
            model,
            effort,
            trace_id,
            repo,
            git_ref,
            head_sha,
            sandbox_skipped,
        ];
        texts.into_iter().flatten().for_each(clean);
    }
}

/// Redacts a tool call or a tool result.
fn redact_tool_use(redactor: &Redactor, body: &mut EventBody) {
    let clean = |text: &mut String| redactor.clean_in_place(text);
    match body {
        EventBody::ToolCall {
            tool,
            summary,
            call_id,
            command,
        } => {
            [tool, summary].into_iter().chain(call_id).for_each(clean);
            clean_and_cap(redactor, command, COMMAND_MAX);
        }
        EventBody::ToolResult {
            tool,
            ok: _,
            summary,
            call_id,
            exit_code: _,
            output,
            infra: _,
        } => {
            [tool, summary].into_iter().chain(call_id).for_each(clean);
            clean_and_cap(redactor, output, OUTPUT_MAX);
        }
        _ => {}
    }
}

/// Redacts a span's start or end.
fn redact_span(redactor: &Redactor, body: &mut EventBody) {
    let clean = |text: &mut String| redactor.clean_in_place(text);
    match body {
        EventBody::SpanStart {
            span_id,
            parent_span_id,
            name,
            attrs,
        } => {
            [span_id, name]
                .into_iter()
                .chain(parent_span_id)
                .for_each(clean);
            attrs
                .iter_mut()
                .for_each(|attrs| clean_map(redactor, attrs));
        }
        EventBody::SpanEnd {
            span_id,
            parent_span_id,
            name,
            attrs,
            started_at: _,
            duration_ms: _,
            status: _,
            error,
        } => {
            [span_id, name]
                .into_iter()
                .chain(parent_span_id)
                .for_each(clean);
            clean_and_cap(redactor, error, SPAN_ERROR_MAX);
            attrs
                .iter_mut()
                .for_each(|attrs| clean_map(redactor, attrs));
        }
        _ => {}
    }
}

fn clean_and_cap(redactor: &Redactor, text: &mut Option<String>, max: usize) {
    if let Some(text) = text {
        *text = redactor.clean(text, max);
    }
}

/// A field's name may mark its value as a secret, so each text is checked together with its name.
fn clean_map(redactor: &Redactor, map: &mut Map<String, Value>) {
    let fields = std::mem::take(map)
        .into_iter()
        .map(|(mut name, mut value)| {
            if is_secret_name(&name) && value.as_str().is_some_and(|text| !text.is_empty()) {
                value = Value::from(PLACEHOLDER);
            }
            redactor.clean_in_place(&mut name);
            clean_value(redactor, &mut value);
            (name, value)
        });
    *map = fields.collect();
}

fn clean_value(redactor: &Redactor, value: &mut Value) {
    match value {
        Value::String(text) => redactor.clean_in_place(text),
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| clean_value(redactor, item)),
        Value::Object(map) => clean_map(redactor, map),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
