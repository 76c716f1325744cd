//! `<provider>/<model>` and the reasoning effort.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::{InvalidName, status::words};

/// Maximum length of a model, in characters.
pub const MODEL_MAX: usize = 200;

/// A configured provider's model, split at the first slash, because model names may contain
/// slashes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ModelRef {
    provider: String,
    model: String,
}

impl ModelRef {
    /// Parses `provider/model`, at most 200 characters. Both parts must be non-empty and free from
    /// white space.
    pub fn parse(text: &str) -> Result<Self, InvalidName> {
        let refused = InvalidName {
            what: "model",
            rule: "be `provider/model` of at most 200 characters",
        };
        let (provider, model) = text.split_once('/').ok_or(refused.clone())?;
        let is_complete =
            !provider.is_empty() && !model.is_empty() && !text.contains(char::is_whitespace);
        if !is_complete || text.chars().count() > MODEL_MAX {
            return Err(refused);
        }
        Ok(Self {
            provider: provider.into(),
            model: model.into(),
        })
    }

    /// Returns the configured provider's name.
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// Returns the model's name at that provider.
    pub fn model(&self) -> &str {
        &self.model
    }
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

impl Serialize for ModelRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ModelRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

words!(
    /// A model's reasoning effort.
    Effort {
        /// The lowest effort there is.
        Low = "low",
        /// An effort in the middle.
        Medium = "medium",
        /// More effort than medium.
        High = "high",
        /// More than high, if the model supports it.
        Xhigh = "xhigh",
        /// The model's maximum effort.
        Max = "max",
    }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_split_at_the_first_slash() {
        let model = ModelRef::parse("openai/meta/llama-3").unwrap();
        assert_eq!(
            (model.provider(), model.model()),
            ("openai", "meta/llama-3")
        );
        for bad in ["", "x", "/m", "p/", "p/m x"] {
            assert!(ModelRef::parse(bad).is_err(), "{bad}");
        }
        assert!(ModelRef::parse(&format!("p/{}", "m".repeat(MODEL_MAX - 2))).is_ok());
        assert!(ModelRef::parse(&format!("p/{}", "m".repeat(MODEL_MAX - 1))).is_err());
    }
}
