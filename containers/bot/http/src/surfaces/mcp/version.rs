//! The header that names the protocol's revision, for the revisions with a handshake.

use ars_wire::mcp::VERSIONS;
use axum::http::HeaderMap;

use super::envelope::Message;

/// Names the protocol revision.
pub(super) const HEADER: &str = "mcp-protocol-version";

/// Fails if a header names a revision that this server does not implement.
///
/// `initialize` negotiates the revision, so the header does not count there.
pub(super) fn check(headers: &HeaderMap, message: Option<&Message>) -> Result<(), String> {
    let negotiates =
        matches!(message, Some(Message::Request(request)) if request.method == "initialize");
    let is_known = |version: &str| VERSIONS.contains(&version);
    let mut named = headers.get_all(HEADER).iter();
    if negotiates || named.all(|version| version.to_str().is_ok_and(is_known)) {
        return Ok(());
    }
    Err(format!(
        "MCP-Protocol-Version must be {} or 2026-07-28",
        VERSIONS.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;
    use crate::surfaces::mcp::envelope;

    #[test]
    fn unknown_revision_is_refused_after_the_handshake() {
        let message = |method: &str| {
            envelope::parse(format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#).as_bytes())
                .ok()
        };
        let (list, initialize) = (message("tools/list"), message("initialize"));
        for (named, message, expected) in [
            (&[][..], &list, true),
            (&["2025-03-26"], &list, true),
            (&["2025-11-25"], &None, true),
            (&["v999"], &list, false),
            (&["v999"], &None, false),
            (&["2024-11-05"], &list, false),
            (&["2025-11-25", "v999"], &list, false),
            (&["2024-11-05"], &initialize, true),
        ] {
            let mut headers = HeaderMap::new();
            for version in named {
                headers.append(HEADER, HeaderValue::from_static(version));
            }
            assert_eq!(
                check(&headers, message.as_ref()).is_ok(),
                expected,
                "{named:?} {message:?}"
            );
        }
    }
}
