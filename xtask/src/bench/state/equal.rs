//! Before anything is measured: both Workers must answer the same requests alike. A twin that does less would be no
//! measure.
//!
//! Times of the Workers' own clocks are left out of the comparison, and nothing else.

use anyhow::{Result, bail, ensure};
use serde_json::{Value, json};

use super::side::Side;
use crate::bench::load::{Ask, TOKEN};

/// Fields that hold a time of the answering Worker's clock.
const CLOCKED: [&str; 3] = ["leaseUntil", "createdAt", "lastUsedAt"];

/// Asks both everything and compares; answers how much was asked.
pub fn check(sides: &[Side; 2], asks: &[Ask]) -> Result<usize> {
    let mut count = 0;
    for raw in raw_requests() {
        compare(sides, raw.as_bytes(), raw.lines().next().unwrap_or_default())?;
        count += 1;
    }
    for ask in asks {
        compare(sides, &ask.bytes(), &format!("{} {}", ask.path, excerpt(ask)))?;
        count += 1;
    }
    Ok(count)
}

fn compare(sides: &[Side; 2], request: &[u8], what: &str) -> Result<()> {
    let [ours, theirs] = [sides[0].ask_raw(request)?, sides[1].ask_raw(request)?];
    let read = |body: &[u8]| serde_json::from_slice(body).map(comparable);
    let (Ok(our_body), Ok(their_body)) = (read(&ours.body), read(&theirs.body)) else {
        bail!("{what}: an answer is not JSON ({} and {})", ours.status, theirs.status);
    };
    ensure!(
        ours.status == theirs.status && ours.content_type == theirs.content_type && our_body == their_body,
        "{what}: the Workers differ, so there is nothing to measure:\n{} {} {}\n{} {} {}",
        ours.status,
        ours.content_type,
        shortened(&our_body),
        theirs.status,
        theirs.content_type,
        shortened(&their_body),
    );
    ensure!(ours.status < 500, "{what}: both Workers failed with {}", ours.status);
    Ok(())
}

/// A body without what may differ: clocked times, and whether a whole number is written with a fraction.
fn comparable(value: Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(entries) => Value::Array(entries.into_iter().map(comparable).collect()),
        Value::Object(fields) => {
            let kept = fields.into_iter().map(|(name, value)| {
                let value = if CLOCKED.contains(&name.as_str()) { Value::Null } else { comparable(value) };
                (name, value)
            });
            Value::Object(kept.collect())
        }
        other => other,
    }
}

fn shortened(value: &Value) -> String {
    value.to_string().chars().take(1500).collect()
}

fn excerpt(ask: &Ask) -> String {
    ask.body.as_deref().unwrap_or_default().chars().take(200).collect()
}

/// What the gate decides, by the head alone.
fn raw_requests() -> Vec<String> {
    let post = |path: &str, headers: &str| format!("POST {path} HTTP/1.1\r\nHost: bench\r\n{headers}\r\n");
    let bearer = format!("Authorization: Bearer {TOKEN}\r\n");
    let length = |length: &str| format!("{bearer}Content-Length: {length}\r\n");
    vec![
        "GET /healthz HTTP/1.1\r\nHost: bench\r\n\r\n".to_owned(),
        "GET /nowhere HTTP/1.1\r\nHost: bench\r\n\r\n".to_owned(),
        "GET /runs/get HTTP/1.1\r\nHost: bench\r\n\r\n".to_owned(),
        post("/healthz", "Content-Length: 0\r\n"),
        post("/runs/get", "Content-Length: 0\r\n"),
        post("/runs/get", &format!("Authorization: Bearer {TOKEN}x\r\nContent-Length: 0\r\n")),
        post("/runs/get", &format!("Authorization: bearer {TOKEN}\r\nContent-Length: 0\r\n")),
        post("/runs/get", &length("0")),
        post("/runs/get", &length("524289")),
        post("/runs/append", &length("2097153")),
        format!("{}[]", post("/runs/get", &length("2"))),
        format!("{}{{\"x\"", post("/runs/get", &length("4"))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_clocked_times_and_the_writing_of_numbers_are_overlooked() {
        let read = |text: &str| comparable(serde_json::from_str(text).unwrap());
        assert_eq!(read(r#"{"a":[1,{"leaseUntil":5}]}"#), read(r#"{"a":[1.0,{"leaseUntil":6}]}"#));
        assert_ne!(read(r#"{"a":1}"#), read(r#"{"a":1.5}"#));
        assert_ne!(read(r#"{"leaseUntil":5}"#), read("{}"));
    }
}
