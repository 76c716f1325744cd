//! Invalid settings.

/// The caller's fault, phrased for the caller. Never contains the rejected value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A field breaks a rule.
    #[error("{field} {rule}")]
    Field {
        /// Path of the field from the document's top.
        field: String,
        /// The rule, phrased to follow the field's name.
        rule: &'static str,
    },
    /// The change has no effect.
    #[error("there is nothing to set")]
    Nothing,
    /// The overrides document is too large.
    #[error("the overrides may have at most {max} bytes")]
    TooLarge {
        /// Maximum size in bytes.
        max: usize,
    },
}

impl Fault {
    pub(crate) fn field(field: impl Into<String>, rule: &'static str) -> Self {
        Self::Field {
            field: field.into(),
            rule,
        }
    }
}
