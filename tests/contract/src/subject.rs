//! Subjects: the stores in this process, or the built Worker on the real runtime.

use std::time::{SystemTime, UNIX_EPOCH};

use ars_store::gate::Head;
use ars_testkit::NativeState;
use ars_tests_workerd::{Running, raw_answer, state_worker_build};
use serde_json::Value;

pub use ars_tests_workerd::TOKEN;

/// A request as sent over the wire.
#[derive(Debug, Clone, Copy)]
pub struct Sent<'a> {
    /// HTTP method to send.
    pub method: &'a str,
    /// Path, possibly with a query.
    pub path: &'a str,
    /// Value of the `Authorization` header.
    pub authorization: Option<&'a str>,
    /// Length that is declared.
    pub length: Length,
    /// Body of the response.
    pub body: &'a [u8],
}

/// The length that a request declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// The body's actual length.
    True,
    /// None. Over a socket the body is chunked.
    Undeclared,
    /// This many bytes, none sent over a socket, because the response cannot depend on them.
    Unsent(usize),
}

/// An answer, always JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// HTTP status code received.
    pub status: u16,
    /// Body of the response.
    pub body: Value,
}

/// A state Worker without data.
pub trait Subject {
    /// Sends a single request.
    fn send(&mut self, sent: &Sent<'_>) -> Answer;
}

/// The gate and the stores in this process.
pub struct Native(NativeState);

impl Native {
    /// Starts with [`TOKEN`] as the secret.
    pub fn start() -> Self {
        Self::with_secret(Some(TOKEN))
    }

    /// Starts with this secret, or none.
    pub fn with_secret(secret: Option<&str>) -> Self {
        Self(NativeState::new(secret))
    }

    /// Starts with [`TOKEN`] as the secret, in place of the previous secret.
    pub fn in_place_of(previous: &str) -> Self {
        Self(NativeState::rotating(Some(TOKEN), Some(previous)))
    }
}

impl Subject for Native {
    fn send(&mut self, sent: &Sent<'_>) -> Answer {
        let length = match sent.length {
            Length::True => Some(sent.body.len()),
            Length::Undeclared => None,
            Length::Unsent(length) => Some(length),
        };
        let length = length.map(|length| length.to_string());
        let head = Head {
            method: sent.method,
            path: sent.path.split('?').next().unwrap_or_default(),
            authorization: sent.authorization,
            content_length: length.as_deref(),
        };
        let (status, body) = self.0.answer(&head, sent.body, now());
        Answer {
            status,
            body: serde_json::from_str(&body).expect("every answer is JSON"),
        }
    }
}

/// The Worker as built.
pub struct Workerd(Running);

impl Workerd {
    /// Starts with [`TOKEN`] as the secret.
    pub fn start() -> Self {
        Self::with_secret(Some(TOKEN))
    }

    /// Starts with this secret, or none.
    pub fn with_secret(secret: Option<&str>) -> Self {
        Self(Running::start(
            state_worker_build(),
            |settings| match secret {
                Some(secret) => settings.secret("MEMORY_TOKEN", secret),
                None => settings,
            },
        ))
    }

    /// Starts with [`TOKEN`] as the secret, in place of the previous secret.
    pub fn in_place_of(previous: &str) -> Self {
        Self(Running::start(state_worker_build(), |settings| {
            settings
                .secret("MEMORY_TOKEN", TOKEN)
                .secret("MEMORY_TOKEN_PREVIOUS", previous)
        }))
    }

    /// Sends raw bytes on a new connection. Returns the first response's status, 0 if there is
    /// none.
    pub fn send_raw(&mut self, request: &[u8]) -> u16 {
        raw_answer(self.0.client.address(), request).status
    }

    /// Returns the Worker's log.
    pub fn log(&self) -> String {
        self.0.log()
    }
}

impl Subject for Workerd {
    fn send(&mut self, sent: &Sent<'_>) -> Answer {
        let client = &self.0.client;
        let answer = match sent.length {
            Length::True => {
                let header = sent.authorization.map(|value| ("authorization", value));
                client.send(sent.method, sent.path, header.as_slice(), sent.body)
            }
            Length::Undeclared => raw_answer(client.address(), &in_chunks(sent)),
            Length::Unsent(length) => {
                let head = format!("{}Content-Length: {length}\r\n\r\n", head(sent));
                raw_answer(client.address(), head.as_bytes())
            }
        };
        assert_eq!(
            answer.content_type, "application/json",
            "of {} {}",
            sent.method, sent.path
        );
        assert!(!answer.body.is_string(), "no JSON: {answer:?}");
        Answer {
            status: answer.status,
            body: answer.body,
        }
    }
}

/// Returns milliseconds since the epoch.
pub fn now() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a clock after 1970");
    i64::try_from(since.as_millis()).expect("a clock before the end of time")
}

/// Returns a request's head, without the length and the end.
fn head(sent: &Sent<'_>) -> String {
    let authorization = sent
        .authorization
        .map(|value| format!("Authorization: {value}\r\n"));
    let authorization = authorization.unwrap_or_default();
    format!(
        "{} {} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{authorization}",
        sent.method, sent.path
    )
}

fn in_chunks(sent: &Sent<'_>) -> Vec<u8> {
    let mut request = format!("{}Transfer-Encoding: chunked\r\n\r\n", head(sent)).into_bytes();
    // An empty chunk would end the body.
    if !sent.body.is_empty() {
        request.extend(format!("{:x}\r\n", sent.body.len()).into_bytes());
        request.extend(sent.body);
        request.extend(b"\r\n");
    }
    request.extend(b"0\r\n\r\n");
    request
}
