//! Sends calls: within their rate, bounded, and again after faults that had no effect.

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use ars_auth::Secret;
use bytes::BytesMut;
use reqwest::{Client, Response, StatusCode, header, redirect::Policy};
use serde_json::{Map, Value};
use tokio::time::sleep;

use super::{ApiBase, ApiError, Method, Urgency, limiter::Limiter};

/// Timeout for connecting to Slack.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for one attempt of a call, including the answer's body.
const CALL_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum bytes of an answer: a page of 200 messages with their blocks.
const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// Maximum attempts of a call.
const MAX_CALL_ATTEMPTS: u32 = 4;
/// Wait before the second attempt; it doubles with each further one.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// Assumed wait if a limited answer names none.
const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(5);
/// Error codes of passing faults, after which the call may have had an effect.
const PASSING: [&str; 4] = [
    "fatal_error",
    "internal_error",
    "request_timeout",
    "service_unavailable",
];
/// Maximum wait that the platform may ask for, in seconds.
const MAX_RETRY_AFTER_S: u64 = 300;

/// The Web API of one workspace. Cheap to clone.
#[derive(Clone)]
pub struct Api {
    inner: Arc<Inner>,
}

struct Inner {
    base: ApiBase,
    bot: Secret,
    app: Secret,
    client: Client,
    limiter: Limiter,
    /// The platform refused streams for the whole workspace.
    lacks_streams: AtomicBool,
}

/// A call with arguments.
pub struct Call<'a> {
    /// The method.
    pub method: Method,
    /// How urgent it is.
    pub urgency: Urgency,
    /// The channel that the rate may count for.
    pub channel: Option<&'a str>,
    /// Arguments. A list or an object is sent as JSON text.
    pub arguments: Map<String, Value>,
}

/// A successful answer.
pub(super) struct Answer {
    pub(super) body: Value,
    /// The token's scopes, separated by commas, if the platform names them.
    pub(super) scopes: Option<String>,
}

impl Api {
    /// Makes the client, which uses the environment's proxy and follows no redirect.
    ///
    /// # Errors
    /// The system's TLS roots cannot be read.
    pub fn new(base: ApiBase, bot: Secret, app: Secret) -> Result<Self, reqwest::Error> {
        let client = Client::builder()
            // The event socket is an upgraded request, and HTTP/2 has no such upgrade.
            .http1_only()
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(Policy::none())
            .user_agent(concat!("ars/", env!("CARGO_PKG_VERSION")))
            .build()?;
        let limiter = Limiter::default();
        let inner = Arc::new(Inner {
            base,
            bot,
            app,
            client,
            limiter,
            lacks_streams: AtomicBool::new(false),
        });
        Ok(Self { inner })
    }

    /// Returns the API's address.
    pub fn base(&self) -> &ApiBase {
        &self.inner.base
    }

    pub(super) fn lacks_streams(&self) -> &AtomicBool {
        &self.inner.lacks_streams
    }

    pub(super) fn bot_token(&self) -> &Secret {
        &self.inner.bot
    }

    /// Returns the client that makes every request.
    pub(crate) fn http(&self) -> &Client {
        &self.inner.client
    }

    /// Makes a call.
    ///
    /// # Errors
    /// The platform refuses the call, or stays unreachable or limited.
    pub async fn call(&self, call: &Call<'_>) -> Result<Value, ApiError> {
        self.answer(call).await.map(|answer| answer.body)
    }

    pub(super) async fn answer(&self, call: &Call<'_>) -> Result<Answer, ApiError> {
        let Inner { limiter, .. } = &*self.inner;
        let mut wait = FIRST_WAIT;
        for attempt in 1.. {
            limiter
                .turn(call.method, call.channel, call.urgency)
                .await?;
            let failure = match self.attempt(call).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            if failure.is_revoked() {
                tracing::error!(method = call.method.name(), %failure, "Slack rejects a token: set a valid one");
            }
            if let ApiError::Limited(time) = failure {
                limiter.close(call.method, call.channel, time);
            }
            if attempt >= MAX_CALL_ATTEMPTS || call.urgency == Urgency::Yields {
                return Err(failure);
            }
            match failure {
                ApiError::Limited(_) => {}
                ApiError::Unreachable => sleep(wait).await,
                ApiError::Unclear(_) if call.method.is_repeatable() => sleep(wait).await,
                failure => return Err(failure),
            }
            wait *= 2;
        }
        Err(ApiError::Unreachable)
    }

    async fn attempt(&self, call: &Call<'_>) -> Result<Answer, ApiError> {
        let token = match call.method {
            Method::OpenConnection => &self.inner.app,
            _ => &self.inner.bot,
        };
        let sent = self
            .inner
            .client
            .post(self.inner.base.method(call.method.name()))
            .timeout(CALL_TIMEOUT)
            .bearer_auth(token.expose())
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form(&call.arguments))
            .send()
            .await;
        let response = sent.map_err(|error| match error.is_connect() || error.is_builder() {
            true => ApiError::Unreachable,
            false => ApiError::Unclear(None),
        })?;
        read(response).await
    }
}

/// Encodes arguments as a form, which every method accepts.
fn form(arguments: &Map<String, Value>) -> String {
    let mut form = form_urlencoded::Serializer::new(String::new());
    for (name, value) in arguments {
        match value {
            Value::Null => {}
            Value::String(text) => drop(form.append_pair(name, text)),
            value => drop(form.append_pair(name, &value.to_string())),
        }
    }
    form.finish()
}

async fn read(response: Response) -> Result<Answer, ApiError> {
    let status = response.status();
    let named = |name: &str| {
        let value = response.headers().get(name)?.to_str().ok()?;
        Some(value.to_owned())
    };
    let (retry_after, scopes) = (named("retry-after"), named("x-oauth-scopes"));
    if status == StatusCode::TOO_MANY_REQUESTS {
        return Err(ApiError::Limited(wait_of(retry_after)));
    }
    if status.is_server_error() {
        return Err(ApiError::Unclear(Some(status.as_u16())));
    }
    if !status.is_success() {
        return Err(ApiError::Unreadable);
    }
    // The body arrives after the call had an effect.
    let body = bounded(response, MAX_ANSWER_BYTES).await;
    let body = body.map_err(|fault| match fault {
        BodyFault::TooLarge => ApiError::Unreadable,
        BodyFault::Broken => ApiError::Unclear(None),
    })?;
    let body: Value = serde_json::from_slice(&body).map_err(|_| ApiError::Unreadable)?;
    if body["ok"] == true {
        return Ok(Answer { body, scopes });
    }
    let code = body["error"].as_str().ok_or(ApiError::Unreadable)?;
    if code == "ratelimited" || code == "rate_limited" {
        return Err(ApiError::Limited(wait_of(retry_after)));
    }
    if PASSING.contains(&code) {
        return Err(ApiError::Unclear(None));
    }
    Err(ApiError::Refused {
        code: code.chars().filter(|c| c.is_ascii_graphic()).collect(),
        needed: body["needed"].as_str().map(str::to_owned),
    })
}

fn wait_of(retry_after: Option<String>) -> Duration {
    let seconds = retry_after.and_then(|text| text.trim().parse().ok());
    seconds.map_or(DEFAULT_RETRY_AFTER, |seconds: u64| {
        Duration::from_secs(seconds.min(MAX_RETRY_AFTER_S))
    })
}

/// Why a body was not read.
pub(super) enum BodyFault {
    /// It has more bytes than allowed.
    TooLarge,
    /// The connection broke.
    Broken,
}

/// Reads a body of at most this many bytes.
pub(super) async fn bounded(mut response: Response, max: usize) -> Result<BytesMut, BodyFault> {
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(|_| BodyFault::Broken)? {
        if body.len() + chunk.len() > max {
            return Err(BodyFault::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
