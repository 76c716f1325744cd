//! The host's response: bounded body and meaning.

use std::collections::VecDeque;

use ars_bot_ports::CodeHostError;
use ars_codehost::answer::{self, GraphError, Limits, Meaning, classify, classify_graph};
use ars_types::UnixMillis;
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header::LOCATION};
use reqwest::Response;
use serde_json::Value;

use super::call::{GRAPHQL, HostCall, Limit};

/// A response with the body.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// The body was longer than the limit.
    pub(super) is_cut: bool,
}

impl Answer {
    /// Reads a response body within a limit.
    pub(super) async fn read(mut response: Response, limit: Limit) -> Result<Self, CodeHostError> {
        let (status, headers) = (response.status(), response.headers().clone());
        // A rejection's body is only read for the message.
        let limit = if status.is_success() {
            limit
        } else {
            Limit::Start(1 << 16)
        };
        let (max, read_max) = match limit {
            Limit::Whole(max) | Limit::Start(max) => (max, max),
            Limit::End(max, read_max) => (max, read_max),
        };
        let (mut kept, mut total, mut is_cut) = (VecDeque::new(), 0_usize, false);
        while let Some(chunk) = response
            .chunk()
            .await
            .map_err(|_| CodeHostError::Unreachable)?
        {
            total += chunk.len();
            kept.extend(chunk);
            if total > read_max && !matches!(limit, Limit::End(..)) {
                is_cut = true;
                break;
            }
            if kept.len() > max && matches!(limit, Limit::End(..)) {
                is_cut = true;
                kept.drain(..kept.len() - max);
            }
            if total > read_max {
                break;
            }
        }
        match limit {
            Limit::Whole(max) if is_cut => return Err(CodeHostError::TooLarge(max)),
            Limit::Start(max) => kept.truncate(max),
            Limit::Whole(_) | Limit::End(..) => {}
        }
        Ok(Self {
            status,
            headers,
            body: Vec::from(kept).into(),
            is_cut,
        })
    }

    /// Returns what the answer to a call means.
    pub(super) fn meaning(&self, call: &HostCall, now: UnixMillis) -> Meaning {
        let header = |name: &str| self.headers.get(name).and_then(|value| value.to_str().ok());
        let message = self.message();
        let answer = answer::Answer {
            status: self.status.as_u16(),
            limits: Limits::parse(header),
            location: header(LOCATION.as_str()),
            message: &message,
        };
        if call.target != GRAPHQL {
            return classify(&answer, now);
        }
        // A body that is no JSON is an answer that cannot be read, whatever it means.
        let body: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let error = body["errors"].as_array().and_then(|errors| errors.first());
        let has_data = body["data"]
            .as_object()
            .is_some_and(|data| data.values().any(|one| !one.is_null()));
        let error = error.map(|error| GraphError {
            kind: error["type"].as_str(),
            message: error["message"].as_str().unwrap_or_default(),
            has_written: call.is_mutation() && has_data,
        });
        match classify_graph(&answer, error.as_ref(), now) {
            // Without a wait the query is sent again soon, because the host served part of it.
            Meaning::RateLimited { wait_ms: None } if has_data => Meaning::Unavailable,
            meaning => meaning,
        }
    }

    /// Returns a rejection's message and the messages in its parts. Only compared, never shown.
    fn message(&self) -> String {
        if self.status.is_success() {
            return String::new();
        }
        let Ok(body) = serde_json::from_slice::<Value>(&self.body) else {
            return String::new();
        };
        let mut message = body["message"].as_str().unwrap_or_default().to_owned();
        for error in body["errors"].as_array().into_iter().flatten() {
            let part = error["message"]
                .as_str()
                .or(error.as_str())
                .unwrap_or_default();
            let field = error["field"].as_str().unwrap_or_default();
            message.push_str(&format!(": {field} {part}"));
        }
        message
    }
}

#[cfg(test)]
mod tests {
    use ars_types::RepoSlug;
    use http::{HeaderValue, Method};

    use super::*;
    use crate::code_host::call::{Access, TokenScope};

    /// 10 seconds after the epoch.
    const NOW: UnixMillis = 10_000;

    /// Returns the meaning when the limit resets at second 70, beside this data.
    fn limited(scope: TokenScope, data: &Value) -> Meaning {
        let body = serde_json::json!({ "data": data, "errors": [{ "type": "RATE_LIMITED" }] });
        let mut headers = HeaderMap::new();
        headers.insert("x-ratelimit-reset", HeaderValue::from_static("70"));
        let answer = Answer {
            status: StatusCode::OK,
            headers,
            body: body.to_string().into(),
            is_cut: false,
        };
        let call = HostCall {
            method: Method::POST,
            target: GRAPHQL.to_owned(),
            accept: "",
            body: Bytes::new(),
            access: Access::Repository(RepoSlug::parse("acme/app").unwrap(), scope),
            limit: Limit::Whole(1_000),
            is_repeatable: true,
        };
        answer.meaning(&call, NOW)
    }

    /// A query's data has no effect that could be unknown.
    #[test]
    fn limited_query_keeps_its_wait() {
        let waits = Meaning::RateLimited {
            wait_ms: Some(60_000),
        };
        let data = serde_json::json!({ "repository": { "pullRequest": null } });
        let none = serde_json::json!({ "repository": null });
        assert_eq!(limited(TokenScope::Read, &data), waits);
        assert_eq!(limited(TokenScope::Read, &none), waits);
        assert_eq!(limited(TokenScope::Resolve, &none), waits);
        assert_eq!(limited(TokenScope::Resolve, &data), Meaning::Unavailable);
    }
}
