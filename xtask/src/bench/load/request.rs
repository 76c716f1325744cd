//! A request of the bench, and its bytes on the wire.

use std::io::Write as _;

use serde_json::Value;

/// The one token of the measured Workers; it lives as long as the measurement.
pub const TOKEN: &str = "bench";

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ask {
    /// The route.
    pub path: &'static str,
    /// The body; none makes it a GET.
    pub body: Option<String>,
}

/// Yields the next request of one client.
pub type Source = Box<dyn FnMut() -> Ask + Send>;

impl Ask {
    /// A GET.
    pub fn get(path: &'static str) -> Self {
        Self { path, body: None }
    }

    /// A POST of JSON text.
    pub fn post(path: &'static str, body: String) -> Self {
        Self { path, body: Some(body) }
    }

    /// A POST of a JSON value.
    pub fn json(path: &'static str, body: &Value) -> Self {
        Self::post(path, body.to_string())
    }

    /// Writes the request into an emptied buffer.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.clear();
        // Writing into memory cannot fail.
        let _ = match &self.body {
            None => write!(out, "GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", self.path),
            Some(body) => write!(
                out,
                "POST {} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\
                 Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                self.path,
                body.len()
            ),
        };
    }

    /// The request's bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }
}

/// The same request each time.
pub fn always(ask: Ask) -> Source {
    Box::new(move || ask.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_how_long_it_is() {
        let bytes = Ask::post("/x", "é".into()).bytes();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.starts_with("POST /x HTTP/1.1\r\n") && text.contains("Content-Length: 2\r\n"));
    }
}
