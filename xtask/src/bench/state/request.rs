//! A request of the bench, and its bytes on the wire.

use std::fmt::Write as _;
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

/// Appends of `count` events a request to one live run, each with the seqs that follow the last's.
pub fn appends(store: &str, run: &str, count: u64) -> Source {
    let head = format!(r#"{{"storeKey":"{store}","runId":"{run}","gen":"g1","events":["#);
    let mut seq = 0;
    Box::new(move || {
        let mut body = head.clone();
        for nth in 0..count {
            seq += 1;
            let comma = if nth == 0 { "" } else { "," };
            // Writing into memory cannot fail.
            let _ = write!(body, r#"{comma}{{"type":"tool_result","seq":{seq}{EVENT_TAIL}"#);
        }
        body.push_str("]}");
        Ask::post("/runs/append", body)
    })
}

/// The rest of an event as an agent's tool call makes it: a few hundred bytes.
pub const EVENT_TAIL: &str = concat!(
    r#","at":1790000000000,"callId":"call_01J8ZQ4T5V6W","tool":"bash","ok":true,"durationMs":1834,"#,
    r#""summary":"cargo test -p ars-runs","text":"running 41 tests\n.........................................\n"#,
    r#"test result: ok. 41 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.71s\n"}"#
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appends_go_on_where_the_last_one_ended() {
        let mut source = appends("s", "r", 3);
        let mut seqs = || {
            let body: Value = serde_json::from_str(&source().body.unwrap()).unwrap();
            let events = body["events"].as_array().unwrap().clone();
            events.iter().map(|event| event["seq"].as_u64().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!((seqs(), seqs()), (vec![1, 2, 3], vec![4, 5, 6]));
    }

    #[test]
    fn a_request_says_how_long_it_is() {
        let bytes = Ask::post("/x", "é".into()).bytes();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.starts_with("POST /x HTTP/1.1\r\n") && text.contains("Content-Length: 2\r\n"));
    }
}
