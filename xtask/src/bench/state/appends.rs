//! Appends to a live run, as its bot makes them.

use std::fmt::Write as _;

use crate::bench::load::{Ask, Source};

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
    use serde_json::Value;

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
}
