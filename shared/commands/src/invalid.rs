//! Invalid input of a command.

use ars_wire::ErrorCode;

/// Why input is invalid. Names the field and the rule, and never contains a value, which may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidInput {
    /// A required argument or option is missing.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// There is no such option. The name is absent if it cannot be shown.
    #[error("{}", unknown(.0.as_deref()))]
    Unknown(Option<String>),
    /// An argument or option is given twice.
    #[error("{0} is given twice")]
    Repeated(String),
    /// There are more arguments than the command has.
    #[error("{}", surplus(*.0))]
    Surplus(usize),
    /// An option of a text surface has no value.
    #[error("{0} needs a value")]
    NoValue(&'static str),
    /// A value breaks its rule.
    #[error("{field} must {rule}")]
    Value {
        /// The argument or option, with its key for a map.
        field: String,
        /// The rule, phrased to follow "must".
        rule: String,
    },
    /// A quote is not closed.
    #[error("a quotation mark is not closed")]
    OpenQuote,
}

impl InvalidInput {
    /// Returns the error for a value.
    pub fn value(field: impl Into<String>, rule: impl Into<String>) -> Self {
        Self::Value { field: field.into(), rule: rule.into() }
    }

    /// Returns the error code.
    pub const fn code(&self) -> ErrorCode {
        ErrorCode::InvalidInput
    }
}

fn unknown(name: Option<&str>) -> String {
    name.map_or_else(
        || "there is an unknown option, whose name is not repeated here".to_owned(),
        |name| format!("{name} is not an option of this command"),
    )
}

fn surplus(most: usize) -> String {
    match most {
        0 => "this command has no arguments".to_owned(),
        1 => "this command has one argument".to_owned(),
        most => format!("this command has at most {most} arguments"),
    }
}
