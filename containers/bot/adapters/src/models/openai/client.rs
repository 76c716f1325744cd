//! The model client for OpenAI and for servers with a compatible chat completions API.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use ars_agent::{ModelTurn, Part, StopReason, Usage};
use ars_auth::Secret;
use ars_bot_ports::{ModelClient, ModelDelta, ModelError, ModelErrorKind, ModelRequest};
use async_trait::async_trait;
use futures::StreamExt as _;
use genai::{
    ModelIden, ServiceTarget,
    adapter::AdapterKind,
    chat::{ChatStreamEvent, StreamEnd, ToolCall},
    resolver::{AuthData, Endpoint as GenaiEndpoint},
};
use reqwest::header::HeaderValue;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::super::{
    calls::normalise,
    failure,
    retry::{RetryPolicy, with_retries},
    transport::Endpoint,
};
use super::request::WireCall;
use crate::error::ModelSetupError;

/// The API's default address.
pub(in crate::models) const DEFAULT_BASE_URL: &str = "https://api.openai.com/v1";

/// Bytes after which no more refusal text is kept. The requester sees fewer.
const REFUSAL_BYTES: usize = 16 << 10;

/// A client for OpenAI or a compatible server.
pub struct OpenAi {
    genai: genai::Client,
    url: String,
    host: String,
    key: Option<Secret>,
    retry: RetryPolicy,
}

impl OpenAi {
    /// Returns a client for the server at `endpoint`. An address without a path gets `/v1`; local
    /// servers need no key.
    pub fn new(
        http: reqwest::Client,
        endpoint: &Endpoint,
        key: Option<Secret>,
        retry: RetryPolicy,
    ) -> Result<Self, ModelSetupError> {
        if let Some(key) = &key {
            HeaderValue::from_str(key.expose()).map_err(|_| ModelSetupError::Key)?;
        }
        let version = if endpoint.is_bare() { "/v1" } else { "" };
        let url = format!("{}{version}/chat/completions", endpoint.base());
        let genai = genai::Client::builder()
            .with_reqwest(http)
            .build()
            .map_err(|_| ModelSetupError::Library)?;
        Ok(Self {
            genai,
            url,
            host: endpoint.host(),
            key,
            retry,
        })
    }

    /// Returns the target with address and key, so that genai does not look for a key in the environment.
    fn target(&self, model: &str) -> ServiceTarget {
        let mut headers = HashMap::new();
        if let Some(key) = &self.key {
            headers.insert(
                "Authorization".to_owned(),
                format!("Bearer {}", key.expose()),
            );
        }
        ServiceTarget {
            endpoint: GenaiEndpoint::from_owned(self.url.as_str()),
            auth: AuthData::RequestOverride {
                url: self.url.clone(),
                headers: headers.into(),
            },
            model: ModelIden::new(AdapterKind::OpenAI, model),
        }
    }

    async fn attempt(
        &self,
        model: &str,
        call: &WireCall,
        deltas: &(dyn Fn(ModelDelta) + Send + Sync),
    ) -> Result<ModelTurn, ModelError> {
        let target = self.target(model);
        let refusal = Arc::new(Mutex::new(String::new()));
        let options = call.options.clone().with_raw_frame_fn({
            let refusal = Arc::clone(&refusal);
            move |_, frame| {
                let mut refusal = refusal.lock().unwrap_or_else(PoisonError::into_inner);
                extend_refusal(&mut refusal, frame.data);
            }
        });
        let started = self
            .genai
            .exec_chat_stream(target, call.chat.clone(), Some(&options))
            .await;
        let mut stream = started.map_err(|error| self.failed(error))?.stream;
        while let Some(event) = stream.next().await {
            match event.map_err(|error| self.failed(error))? {
                ChatStreamEvent::Chunk(chunk) => deltas(ModelDelta::Text(chunk.content)),
                ChatStreamEvent::End(end) => {
                    let refusal = std::mem::take(
                        &mut *refusal.lock().unwrap_or_else(PoisonError::into_inner),
                    );
                    return finish(end, refusal);
                }
                _ => {}
            }
        }
        // genai ends a truncated stream without an error.
        Err(failure::protocol("the stream ended before the answer did"))
    }

    fn failed(&self, error: genai::Error) -> ModelError {
        let failed = match error {
            genai::Error::HttpError {
                status,
                body,
                headers,
                ..
            } => failure::refused(status, &headers, &body),
            genai::Error::ChatResponse { body, .. } => failure::reported(&body),
            // In a stream genai boxes the cause with the status.
            genai::Error::WebStream { error, .. } => match error.downcast::<genai::Error>() {
                Ok(inner) => return self.failed(*inner),
                Err(error) => match error.downcast_ref::<reqwest::Error>() {
                    Some(error) => failure::unreachable(error, &self.host),
                    None => failure::protocol("the answer is not a stream of events"),
                },
            },
            genai::Error::StreamParse { .. } => failure::protocol("an event is not JSON"),
            _ => ModelError {
                kind: ModelErrorKind::Invalid,
                message: "the request cannot be put into the provider's form".into(),
            },
        };
        failure::scrubbed(failed, self.key.as_ref())
    }
}

#[async_trait]
impl ModelClient for OpenAi {
    async fn turn(
        &self,
        request: ModelRequest<'_>,
        deltas: &(dyn Fn(ModelDelta) + Send + Sync),
        cancel: &CancellationToken,
    ) -> Result<ModelTurn, ModelError> {
        let call = super::request::encode(&request);
        let attempt = || self.attempt(request.model, &call, deltas);
        let mut turn = with_retries(&self.retry, deltas, cancel, attempt).await?;
        normalise(&mut turn, request.turns, request.tools);
        Ok(turn)
    }
}

/// Appends an event's refusal text, which genai drops.
fn extend_refusal(refusal: &mut String, event: &str) {
    if !event.contains("\"refusal\"") || refusal.len() >= REFUSAL_BYTES {
        return;
    }
    let event: Value = serde_json::from_str(event).unwrap_or_default();
    refusal.push_str(
        event["choices"][0]["delta"]["refusal"]
            .as_str()
            .unwrap_or_default(),
    );
}

fn finish(end: StreamEnd, refusal: String) -> Result<ModelTurn, ModelError> {
    let usage = end.captured_usage.as_ref().map(usage).unwrap_or_default();
    let reason = end.captured_stop_reason.clone();
    let content = end.captured_content.unwrap_or_default();
    let mut parts: Vec<Part> = Vec::new();
    let text: String = content.texts().concat();
    if !text.is_empty() {
        parts.push(Part::text(text));
    }
    for call in content.into_tool_calls() {
        push_call(&mut parts, call);
    }
    let calls = parts
        .iter()
        .any(|part| matches!(part, Part::ToolCall { .. }));
    let stop = match reason {
        Some(genai::chat::StopReason::ToolCall(_)) if !calls => {
            return Err(failure::protocol(
                "the answer announces tool calls and holds none",
            ));
        }
        // Some servers report `stop` together with tool calls.
        Some(genai::chat::StopReason::Completed(_) | genai::chat::StopReason::ToolCall(_))
            if calls =>
        {
            StopReason::ToolUse
        }
        Some(_) if !refusal.trim().is_empty() => StopReason::Refusal(Some(refusal)),
        Some(genai::chat::StopReason::MaxTokens(_)) => StopReason::MaxTokens,
        Some(genai::chat::StopReason::ContentFilter(_)) => StopReason::Refusal(None),
        Some(genai::chat::StopReason::Other(word)) => StopReason::Other(word),
        Some(_) => StopReason::EndTurn,
        None => return Err(failure::protocol("the answer has no finish reason")),
    };
    Ok(ModelTurn { parts, stop, usage })
}

/// Adds a call unless it is present: genai fills gaps in a server's call indexes with copies.
fn push_call(parts: &mut Vec<Part>, call: ToolCall) {
    let input = match call.fn_arguments {
        Value::String(text) if text.trim().is_empty() => Value::Object(Map::new()),
        Value::Null => Value::Object(Map::new()),
        input => input,
    };
    let call = Part::ToolCall {
        call_id: call.call_id,
        name: call.fn_name,
        input,
        extra: Map::new(),
    };
    // Different calls that share an id are separate calls.
    if !parts.contains(&call) {
        parts.push(call);
    }
}

fn usage(usage: &genai::chat::Usage) -> Usage {
    let count = |tokens: Option<i32>| {
        tokens
            .and_then(|tokens| u64::try_from(tokens).ok())
            .unwrap_or(0)
    };
    let details = usage.prompt_tokens_details.as_ref();
    let cache_read_tokens = count(details.and_then(|details| details.cached_tokens));
    let cache_write_tokens = count(details.and_then(|details| details.cache_creation_tokens));
    Usage {
        // The API's count includes cached tokens; the service counts only fresh tokens.
        input_tokens: count(usage.prompt_tokens)
            .saturating_sub(cache_read_tokens + cache_write_tokens),
        output_tokens: count(usage.completion_tokens),
        cache_read_tokens,
        cache_write_tokens,
    }
}
