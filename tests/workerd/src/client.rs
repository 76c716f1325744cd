//! A small HTTP client for JSON, and a raw form for requests that no HTTP client sends.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use ars_raw_http::{Connection, Message};
use serde_json::Value;
use ureq::http::{HeaderValue, Request};

/// Longest wait for an answer: far above any, far below a test runner's patience.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Wait for an answer that may never come: far above the milliseconds any answer takes.
const SHORT_TIMEOUT: Duration = Duration::from_secs(3);

/// Speaks to a single Worker, on a new connection for each request.
///
/// workerd closes a connection that was idle for 5 s, even if a request has just arrived there:
/// on a busy machine it looks at the clock first.
#[derive(Clone)]
pub struct Client {
    agent: ureq::Agent,
    address: SocketAddr,
}

/// A response that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The HTTP status code.
    pub status: u16,
    /// The `Content-Type` header.
    pub content_type: String,
    /// The `Content-Length` header.
    pub declared: Option<usize>,
    /// The `Retry-After` header, in seconds.
    pub retry_after: Option<u32>,
    /// How many bytes the body has.
    pub bytes: usize,
    /// The body: JSON, or a string if it is not JSON.
    pub body: Value,
}

impl Client {
    /// Makes a client for the Worker at `address`.
    pub fn new(address: SocketAddr) -> Self {
        Self::waiting(address, TIMEOUT)
    }

    /// The same for a request that may never be answered.
    pub fn impatient(&self) -> Self {
        Self::waiting(self.address, SHORT_TIMEOUT)
    }

    fn waiting(address: SocketAddr, limit: Duration) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(limit))
            .max_idle_connections(0)
            .build();
        Self {
            agent: config.into(),
            address,
        }
    }

    /// Where it speaks to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends any method with any headers.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        self.try_send(method, path, headers, body)
            .expect("an answer")
    }

    /// As [`Client::send`], for a Worker that may be gone.
    pub fn try_send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Answer, ureq::Error> {
        let url = format!("http://{}{path}", self.address);
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, HeaderValue::from_str(value).expect("a header value"));
        }
        let config = self
            .agent
            .configure_request(request.body(body).expect("a request"));
        let mut response = self
            .agent
            .run(config.allow_non_standard_methods(true).build())?;
        let header = |name| {
            response
                .headers()
                .get(name)
                .and_then(|value| value.to_str().ok())
        };
        let content_type = header("content-type").unwrap_or_default().to_owned();
        let declared = header("content-length").and_then(|length| length.parse().ok());
        let retry_after = header("retry-after").and_then(|seconds| seconds.parse().ok());
        let text = response
            .body_mut()
            .with_config()
            .limit(64 << 20)
            .read_to_string()?;
        let answer = answer(response.status().as_u16(), content_type, declared, text);
        Ok(Answer {
            retry_after,
            ..answer
        })
    }

    /// Sends GET and returns status, `Content-Type` and the unread body.
    pub fn streamed(&self, path: &str) -> (u16, String, ureq::Body) {
        let response = self
            .agent
            .get(format!("http://{}{path}", self.address))
            .call()
            .expect("an answer");
        let content_type = response
            .headers()
            .get("content-type")
            .and_then(|value| value.to_str().ok());
        let content_type = content_type.unwrap_or_default().to_owned();
        (
            response.status().as_u16(),
            content_type,
            response.into_body(),
        )
    }

    /// GET, without a credential.
    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    /// POST with a bearer.
    pub fn post(&self, path: &str, token: &str, body: &Value) -> Answer {
        self.post_bytes(path, token, body.to_string().as_bytes())
    }

    /// Posts, reads only so many response bytes, and disconnects.
    pub fn hang_up_after(&self, bytes: usize, path: &str, token: &str, body: &Value) {
        let body = body.to_string();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: worker\r\nAuthorization: Bearer {token}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut connection = Connection::open(self.address).expect("a connection");
        connection.send(request.as_bytes()).expect("sent");
        connection.skip(bytes).expect("an answer of more bytes");
    }

    /// Posts bytes that may not be JSON.
    pub fn post_bytes(&self, path: &str, token: &str, body: &[u8]) -> Answer {
        self.send(
            "POST",
            path,
            &[("authorization", &format!("Bearer {token}"))],
            body,
        )
    }
}

/// Sends a request unchanged on its own connection; status 0 if it ends without a response.
pub fn raw_answer(address: SocketAddr, request: &[u8]) -> Answer {
    let mut connection = Connection::open(address).expect("a connection");
    connection.send(request).expect("sent");
    connection.end_requests();
    let message = match connection.answer("GET") {
        Ok(message) => message,
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
            return answer(0, String::new(), None, String::new());
        }
        Err(error) => panic!("no answer: {error}"),
    };
    let Message {
        status, ref body, ..
    } = message;
    let declared = message
        .field("content-length")
        .and_then(|length| length.parse().ok());
    let content_type = message.field("content-type").unwrap_or_default().to_owned();
    answer(
        status,
        content_type,
        declared,
        String::from_utf8_lossy(body).into_owned(),
    )
}

fn answer(status: u16, content_type: String, declared: Option<usize>, text: String) -> Answer {
    let bytes = text.len();
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Answer {
        status,
        content_type,
        declared,
        retry_after: None,
        bytes,
        body,
    }
}
