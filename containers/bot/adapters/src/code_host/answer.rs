//! The host's answer: its bounded body and its meaning.

use std::collections::VecDeque;

use ars_bot_ports::CodeHostError;
use ars_codehost::answer::{self, Limits, Meaning, classify};
use ars_types::UnixMillis;
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header::LOCATION};
use reqwest::Response;
use serde_json::Value;

use super::call::Limit;

/// An answer with its body.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// The body was longer than its limit.
    pub(super) is_cut: bool,
}

impl Answer {
    /// Reads the body of a response within its limit.
    pub(super) async fn read(mut response: Response, limit: Limit) -> Result<Self, CodeHostError> {
        let (status, headers) = (response.status(), response.headers().clone());
        // The body of a rejection is only read for its message.
        let limit = if status.is_success() { limit } else { Limit::Start(1 << 16) };
        let (max, read_max) = match limit {
            Limit::Whole(max) | Limit::Start(max) => (max, max),
            Limit::End(max, read_max) => (max, read_max),
        };
        let (mut kept, mut total, mut is_cut) = (VecDeque::new(), 0_usize, false);
        while let Some(chunk) = response.chunk().await.map_err(|_| CodeHostError::Unreachable)? {
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
        Ok(Self { status, headers, body: Vec::from(kept).into(), is_cut })
    }

    /// Returns what the answer means.
    pub(super) fn meaning(&self, now: UnixMillis) -> Meaning {
        let header = |name: &str| self.headers.get(name).and_then(|value| value.to_str().ok());
        let message = self.message();
        classify(
            &answer::Answer {
                status: self.status.as_u16(),
                limits: Limits::parse(header),
                location: header(LOCATION.as_str()),
                message: &message,
            },
            now,
        )
    }

    /// Returns the message of a rejection, with those of its parts. It is only compared, never shown.
    fn message(&self) -> String {
        if self.status.is_success() {
            return String::new();
        }
        let Ok(body) = serde_json::from_slice::<Value>(&self.body) else { return String::new() };
        let mut message = body["message"].as_str().unwrap_or_default().to_owned();
        for error in body["errors"].as_array().into_iter().flatten() {
            let part = error["message"].as_str().or(error.as_str()).unwrap_or_default();
            let field = error["field"].as_str().unwrap_or_default();
            message.push_str(&format!(": {field} {part}"));
        }
        message
    }
}
