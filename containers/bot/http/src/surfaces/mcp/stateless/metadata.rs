//! A request's metadata: the client's revision and features.

use ars_wire::mcp::VERSIONS;
use axum::http::HeaderMap;
use rmcp::model::{
    ClientCapabilities, ErrorData, ProtocolVersion, RequestMetaObject, TASKS_EXTENSION_ID,
};
use serde_json::{Map, Value};

use super::headers;

/// A single request's client, as the request describes it.
#[derive(Debug)]
pub(super) struct Client {
    capabilities: ClientCapabilities,
}

impl Client {
    /// Reads a request's metadata and compares them with the headers.
    ///
    /// # Errors
    ///
    /// The metadata are incomplete, differ from a header, or name an unknown revision.
    pub(super) fn from_metadata(
        headers: &HeaderMap,
        method: &str,
        params: &Map<String, Value>,
    ) -> Result<Self, ErrorData> {
        let meta = params
            .get("_meta")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        let meta = RequestMetaObject(meta.into());
        let (Some(version), Some(capabilities)) =
            (meta.protocol_version(), meta.client_capabilities())
        else {
            let missing = meta
                .missing_required_keys(&ProtocolVersion::V_2026_07_28)
                .join(" and ");
            return Err(ErrorData::invalid_params(
                format!("_meta lacks {missing}, or it is malformed"),
                None,
            ));
        };
        headers::check(headers, version.as_str(), method, params)?;
        if version != ProtocolVersion::V_2026_07_28 {
            return Err(ErrorData::unsupported_protocol_version(
                version,
                &supported(),
            ));
        }
        Ok(Self { capabilities })
    }

    /// Returns whether the client accepts a task as a tool's result.
    pub(super) fn has_tasks(&self) -> bool {
        self.capabilities.supports_tasks()
    }

    /// Fails unless the client has tasks.
    ///
    /// # Errors
    ///
    /// It does not declare them.
    pub(super) fn require_tasks(&self) -> Result<(), ErrorData> {
        if self.has_tasks() {
            return Ok(());
        }
        let mut required = ClientCapabilities::default();
        required.extensions = Some([(TASKS_EXTENSION_ID.to_owned(), Map::new())].into());
        Err(ErrorData::missing_required_client_capability(required))
    }
}

/// Returns every revision that the server implements, newest first.
pub(super) fn supported() -> Vec<ProtocolVersion> {
    let known = ProtocolVersion::KNOWN_VERSIONS.iter().rev();
    known
        .filter(|version| {
            **version == ProtocolVersion::V_2026_07_28 || VERSIONS.contains(&version.as_str())
        })
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_revision_is_offered_first() {
        let offered: Vec<_> = supported().iter().map(ToString::to_string).collect();
        assert_eq!(
            offered,
            ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"]
        );
    }
}
