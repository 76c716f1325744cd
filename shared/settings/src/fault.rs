//! Why settings cannot be what somebody wants them to be.

/// The caller's fault, phrased for the caller. Never carries the offending value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A field breaks its rule.
    #[error("{field} {rule}")]
    Field {
        /// Which, from the top of the document.
        field: String,
        /// What is asked of it, phrased to follow its name.
        rule: &'static str,
    },
    /// A change that changes nothing.
    #[error("there is nothing to set")]
    Nothing,
    /// All overrides together are too much.
    #[error("the overrides may have at most {max} bytes")]
    TooLarge {
        /// What fits.
        max: usize,
    },
}

impl Fault {
    pub(crate) fn field(field: impl Into<String>, rule: &'static str) -> Self {
        Self::Field { field: field.into(), rule }
    }
}
