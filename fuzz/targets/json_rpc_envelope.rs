//! A JSON-RPC message is rejected with a validly typed id, or has the id and method from the text.
#![no_main]
#![expect(
    dead_code,
    reason = "the included file has an item for its other callers"
)]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;

#[path = "../../containers/bot/http/src/surfaces/mcp/envelope.rs"]
mod envelope;

use envelope::Message;

fuzz_target!(|bytes: &[u8]| {
    let sent: Value = serde_json::from_slice(bytes).unwrap_or_default();
    match envelope::parse(bytes) {
        Ok(Message::Request(request)) => {
            assert_eq!(
                (&request.id, Value::from(request.method)),
                (&sent["id"], sent["method"].clone())
            );
        }
        Ok(Message::Notification) => assert!(sent.get("id").is_none(), "{sent}"),
        Err(response) => {
            let answer = serde_json::to_value(response).expect("a response is JSON");
            assert!(
                matches!(
                    answer["id"],
                    Value::Null | Value::String(_) | Value::Number(_)
                ),
                "{answer}"
            );
            assert!(answer["error"]["code"].is_i64(), "{answer}");
        }
    }
});
