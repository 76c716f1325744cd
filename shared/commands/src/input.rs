//! A command's validated input.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Input that satisfies the definition, with defaults filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    pub(crate) values: Map<String, Value>,
}

impl Input {
    /// Returns the input as the command's own type.
    ///
    /// # Errors
    ///
    /// The type does not match the definition, which is a bug.
    pub fn into<T: DeserializeOwned>(self) -> Result<T, serde_json::Error> {
        serde_json::from_value(Value::Object(self.values))
    }
}
