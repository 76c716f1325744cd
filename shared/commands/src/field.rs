//! Arguments and options of a command, and the kinds of their values.

use crate::Name;

/// An argument or an option.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Field {
    /// Name in camelCase. Text surfaces and query strings use its kebab-case form.
    pub name: &'static str,
    /// Kind of value.
    pub kind: Kind,
    /// Description, a phrase without a full stop.
    pub about: &'static str,
    /// Whether the value may be missing.
    pub presence: Presence,
}

/// The kind of a value, with its bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Text of `min` to `max` characters.
    Text {
        /// Fewest characters.
        min: usize,
        /// Most characters.
        max: usize,
    },
    /// The last argument: the rest of a text surface's arguments, joined by blanks, and text elsewhere.
    Rest {
        /// Most characters.
        max: usize,
    },
    /// An integer.
    Integer {
        /// Least value.
        min: i64,
        /// Greatest value, at most 2^53 - 1.
        max: i64,
    },
    /// A finite number of at least 0.
    Duration,
    /// A boolean.
    Boolean,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A name.
    Name(&'static Name),
    /// Values by name, such as `models.<agent>`.
    Map {
        /// The keys.
        key: &'static Name,
        /// The values.
        value: &'static Kind,
    },
}

/// Whether a value may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It may not.
    Required,
    /// It may.
    Optional,
    /// A missing value is this one.
    Default(Assumed),
    /// Documented like a default. The handler decides, because the value depends on other input.
    Documented(Assumed),
}

/// The value of a default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assumed {
    /// A word.
    Word(&'static str),
    /// An integer.
    Integer(i64),
}

/// Greatest integer that every JSON reader represents exactly.
pub(crate) const MAX_SAFE: i64 = 9_007_199_254_740_991;

impl Field {
    /// Returns a required field.
    pub const fn required(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self {
            name,
            kind,
            about,
            presence: Presence::Required,
        }
    }

    /// Returns an optional field.
    pub const fn optional(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self {
            name,
            kind,
            about,
            presence: Presence::Optional,
        }
    }

    /// Returns the field with a default word.
    #[must_use]
    pub const fn or(self, word: &'static str) -> Self {
        Self {
            presence: Presence::Default(Assumed::Word(word)),
            ..self
        }
    }

    /// Returns the field with a default integer.
    #[must_use]
    pub const fn or_integer(self, value: i64) -> Self {
        Self {
            presence: Presence::Default(Assumed::Integer(value)),
            ..self
        }
    }

    /// Returns the field with a word that the handler assumes.
    #[must_use]
    pub const fn assumed(self, word: &'static str) -> Self {
        Self {
            presence: Presence::Documented(Assumed::Word(word)),
            ..self
        }
    }

    /// Returns whether the value must be given.
    pub const fn is_required(&self) -> bool {
        matches!(self.presence, Presence::Required)
    }

    /// Returns the default, documented or filled in.
    pub const fn default(&self) -> Option<Assumed> {
        match self.presence {
            Presence::Default(value) | Presence::Documented(value) => Some(value),
            Presence::Required | Presence::Optional => None,
        }
    }
}

impl Kind {
    /// An integer of at least `min`.
    pub const fn at_least(min: i64) -> Self {
        Self::Integer { min, max: MAX_SAFE }
    }

    /// An integer within bounds.
    pub const fn within(min: i64, max: i64) -> Self {
        Self::Integer { min, max }
    }

    /// Returns whether the value is the rest of the arguments.
    pub(crate) const fn is_rest(&self) -> bool {
        matches!(self, Self::Rest { .. })
    }
}

impl Assumed {
    /// Returns the JSON value.
    pub fn to_json(self) -> serde_json::Value {
        match self {
            Self::Word(word) => word.into(),
            Self::Integer(value) => value.into(),
        }
    }
}
