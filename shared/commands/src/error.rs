//! Errors: an invalid definition table, and invalid command input.

use ars_wire::ErrorCode;

/// Why a table is invalid. Each names the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The id is not `<group>.<verb>` in lower case letters, or the verb is `help`.
    #[error("{0}: the id must be `<group>.<verb>` in lower case letters, and no verb is `help`")]
    Id(&'static str),
    /// Two commands have the same id.
    #[error("{0}: defined twice")]
    Duplicate(&'static str),
    /// The action belongs to another group, or does not match the effect.
    #[error(
        "{0}: the action must be `<group>:read` for a read, and of its group and no read otherwise"
    )]
    Action(&'static str),
    /// A required argument follows an optional argument.
    #[error("{0}: a required argument follows an optional one")]
    Order(&'static str),
    /// The field that takes the rest is not the last argument, or is an option.
    #[error("{0}: only the last argument may be the rest")]
    Rest(&'static str),
    /// A name is not in camelCase, or is reserved by a surface.
    #[error("{0}: names must be in camelCase and not `json`, `help` or `server`")]
    FieldName(&'static str),
    /// Two arguments or options have the same name.
    #[error("{0}: two arguments or options have one name")]
    RepeatedField(&'static str),
    /// An argument has a kind that text surfaces cannot pass by position.
    #[error("{0}: an argument can neither be a boolean nor a map")]
    Argument(&'static str),
    /// Bounds are empty, or a map holds a map.
    #[error("{0}: a kind has no values")]
    Bounds(&'static str),
    /// A default does not fit the kind.
    #[error("{0}: a default is not a value of its kind")]
    Default(&'static str),
}

/// Why input is invalid: names the field and the rule, never a value, which may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidInput {
    /// A required argument or option is missing.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// There is no such option. The name is absent if it cannot be shown.
    #[error("{}", unknown(.0.as_deref()))]
    Unknown(Option<String>),
    /// There is no such option, but a similar name that is a typing error away. Both are as text
    /// surfaces write them.
    #[error("{given} is not an option of this command: did you mean {meant}?")]
    MistypedOption {
        /// The option as given.
        given: String,
        /// The command's real option.
        meant: String,
    },
    /// An argument or option is given twice.
    #[error("{0} is given twice")]
    Repeated(String),
    /// There are more arguments than the command has.
    #[error("{}", surplus(*.0))]
    Surplus(usize),
    /// An option on a text surface has no value.
    #[error("{0} needs a value")]
    NoValue(&'static str),
    /// A value breaks a rule.
    #[error("{field} must {rule}")]
    Value {
        /// The argument or option, with the key for a map.
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
        Self::Value {
            field: field.into(),
            rule: rule.into(),
        }
    }

    /// Returns the error code.
    pub const fn code(&self) -> ErrorCode {
        ErrorCode::InvalidInput
    }
}

fn unknown(name: Option<&str>) -> String {
    name.map_or_else(
        || "there is an unknown option, which is not repeated here".to_owned(),
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
