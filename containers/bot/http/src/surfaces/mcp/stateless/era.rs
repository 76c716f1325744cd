//! Which requests belong to this revision.

use axum::http::HeaderMap;
use rmcp::model::{ProtocolVersion, RequestMetaObject};
use serde_json::Value;

use super::headers;
use crate::surfaces::mcp::envelope::Message;

/// Revisions with a handshake, any of which older clients may name.
const WITH_HANDSHAKE: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// Returns whether a message belongs to this revision, by the header or else the metadata. The
/// metadata does not count if the header names a revision with a handshake.
pub(in super::super) fn is_stateless(headers: &HeaderMap, message: Option<&Message>) -> bool {
    let mut named = headers
        .get_all(headers::VERSION)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let mut has_handshake = false;
    let is_named = named.any(|version| {
        has_handshake |= WITH_HANDSHAKE.contains(&version);
        version == ProtocolVersion::V_2026_07_28.as_str()
    });
    is_named || !has_handshake && message.is_some_and(has_metadata)
}

/// Returns whether a request's metadata name a protocol version, as no revision with a handshake does.
fn has_metadata(message: &Message) -> bool {
    let [version, _] = RequestMetaObject::DRAFT_REQUIRED_KEYS;
    let Message::Request(request) = message else {
        return false;
    };
    request
        .params
        .get("_meta")
        .and_then(Value::as_object)
        .is_some_and(|meta| meta.contains_key(version))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;
    use crate::surfaces::mcp::envelope;

    #[test]
    fn header_decides_before_the_metadata() {
        let key = "io.modelcontextprotocol/protocolVersion";
        let with_metadata = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"_meta":{{"{key}":1}}}}}}"#
        );
        let without =
            r#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":1}}}"#;
        for (named, body, expected) in [
            (Some("2026-07-28"), without, true),
            (Some("2026-07-28"), "[]", true),
            (Some("2025-11-25"), with_metadata.as_str(), false),
            (Some("2024-11-05"), with_metadata.as_str(), false),
            (Some("v999"), with_metadata.as_str(), true),
            (Some("v999"), without, false),
            (None, with_metadata.as_str(), true),
            (None, without, false),
            (None, "[]", false),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(version) = named {
                headers.insert(headers::VERSION, HeaderValue::from_static(version));
            }
            let message = envelope::parse(body.as_bytes()).ok();
            assert_eq!(
                is_stateless(&headers, message.as_ref()),
                expected,
                "{named:?} {body}"
            );
        }
    }
}
