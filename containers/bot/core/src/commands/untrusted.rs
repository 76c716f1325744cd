//! Text from outside: fenced in JSON, plain where people read it (docs/reference/events.md#untrusted-text).

use ars_events::wrap_untrusted;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// Untrusted text.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema)]
#[schemars(transparent, with = "String")]
pub(super) struct Untrusted(pub(super) String);

impl Untrusted {
    /// Returns the text for people.
    pub(super) fn plain(&self) -> &str {
        &self.0
    }
}

impl Serialize for Untrusted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&wrap_untrusted(&self.0))
    }
}
