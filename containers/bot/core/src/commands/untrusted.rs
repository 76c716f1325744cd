//! Text from outside: fenced in JSON, plain for people (docs/reference/events.md#untrusted-text).

use ars_events::{unwrap_untrusted, wrap_untrusted};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

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

impl<'de> Deserialize<'de> for Untrusted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Ok(Self(
            unwrap_untrusted(&text).map_or_else(|| text.clone(), str::to_owned),
        ))
    }
}
