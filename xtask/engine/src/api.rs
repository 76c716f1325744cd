//! The part of Docker's API in use, over its socket: a request and a response per connection.
//!
//! Requests use HTTP/1.0, so a response is never chunked and ends with the connection.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// Longest silence while an engine answers a question.
const SILENCE: Duration = Duration::from_secs(120);
/// Longest silence while an engine builds or imports. It stores a layer without a word, and
/// installing Debian's packages takes minutes on a loaded machine.
const BUILD_SILENCE: Duration = Duration::from_secs(900);

/// The engine's API socket.
#[derive(Debug, Clone)]
pub(crate) struct Api {
    socket: PathBuf,
}

/// The engine's response.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// Returns a success's JSON body.
    pub(crate) fn json(&self) -> Result<Value> {
        ensure!(self.is_success(), "{}", self.complaint());
        serde_json::from_slice(&self.body).context("the engine's answer")
    }

    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Returns the engine's error message.
    pub(crate) fn complaint(&self) -> String {
        let said = serde_json::from_slice::<Value>(&self.body).ok();
        let said = said
            .as_ref()
            .and_then(|body| body["message"].as_str())
            .unwrap_or("no reason given");
        format!("the engine answered {}: {said}", self.status)
    }
}

impl Api {
    pub(crate) fn new(socket: impl Into<PathBuf>) -> Self {
        Self {
            socket: socket.into(),
        }
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// Whether an engine answers there.
    pub(crate) fn answers(&self) -> bool {
        self.get("/_ping").is_ok_and(|answer| answer.is_success())
    }

    pub(crate) fn get(&self, path: &str) -> Result<Answer> {
        self.call("GET", path, &[])
    }

    pub(crate) fn delete(&self, path: &str) -> Result<Answer> {
        self.call("DELETE", path, &[])
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Result<Answer> {
        self.call("POST", path, body.to_string().as_bytes())
    }

    /// Sends a request and reads the whole response. A body is JSON, except for a build or import
    /// archive.
    pub(crate) fn call(&self, method: &str, path: &str, body: &[u8]) -> Result<Answer> {
        let answer = self.exchange(method, path, body);
        let answer =
            answer.with_context(|| format!("{method} {path} at {}", self.socket.display()))?;
        parse(&answer).with_context(|| format!("{method} {path} at {}", self.socket.display()))
    }

    fn exchange(&self, method: &str, path: &str, body: &[u8]) -> std::io::Result<Vec<u8>> {
        let mut stream = self.send(method, path, body)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(answer)
    }

    fn send(&self, method: &str, path: &str, body: &[u8]) -> std::io::Result<UnixStream> {
        let mut stream = UnixStream::connect(&self.socket)?;
        let is_archive = ["/build", "/images/create"]
            .iter()
            .any(|start| path.starts_with(start))
            || path.contains("/archive?");
        stream.set_read_timeout(Some(if is_archive { BUILD_SILENCE } else { SILENCE }))?;
        stream.set_write_timeout(Some(SILENCE))?;
        let kind = if is_archive {
            "application/x-tar"
        } else {
            "application/json"
        };
        let length = body.len();
        // In a single piece: an engine that refuses at once closes before it has read a second.
        let mut request = format!(
            "{method} {path} HTTP/1.0\r\nHost: engine\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
        )
        .into_bytes();
        request.extend_from_slice(body);
        stream.write_all(&request)?;
        Ok(stream)
    }

    /// Opens the engine's event stream: after the head, a JSON line for each event, without an end.
    pub(crate) fn events(&self) -> Result<UnixStream> {
        let stream = self.send("GET", "/events", &[]).and_then(|stream| {
            // Nothing may happen for hours.
            stream.set_read_timeout(None)?;
            Ok(stream)
        });
        stream.with_context(|| format!("events at {}", self.socket.display()))
    }
}

fn parse(answer: &[u8]) -> Result<Answer> {
    let end = answer
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .context("the answer has no head")?;
    let head = String::from_utf8_lossy(&answer[..end]);
    let status = head
        .split_whitespace()
        .nth(1)
        .and_then(|word| word.parse().ok());
    let Some(status) = status else {
        bail!("the answer has no status")
    };
    Ok(Answer {
        status,
        body: answer[end + 4..].to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::thread;

    use super::*;

    #[test]
    fn rejection_has_the_engines_reason() {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("s");
        let listener = UnixListener::bind(&socket).unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = [0; 512];
            let read = stream.read(&mut asked).unwrap();
            stream
                .write_all(b"HTTP/1.0 409 Conflict\r\nA: b\r\n\r\n{\"message\":\"in use\"}")
                .unwrap();
            String::from_utf8_lossy(&asked[..read]).into_owned()
        });
        let answer = Api::new(&socket).delete("/images/x").unwrap();
        assert_eq!(
            answer.json().unwrap_err().to_string(),
            "the engine answered 409: in use"
        );
        assert!(
            server
                .join()
                .unwrap()
                .starts_with("DELETE /images/x HTTP/1.0\r\n")
        );
    }

    #[test]
    fn malformed_answer_is_an_error() {
        assert!(parse(b"").is_err() && parse(b"HTTP/1.0 x\r\n\r\n").is_err());
        assert_eq!(parse(b"HTTP/1.0 200 OK\r\n\r\nrest").unwrap().body, b"rest");
    }
}
