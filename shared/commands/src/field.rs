//! A command's arguments and options, and their value kinds.

use crate::Name;

/// An argument or an option.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Field {
    /// Name in camelCase. Text surfaces and query strings use the kebab-case form.
    pub name: &'static str,
    /// Which values it takes.
    pub kind: Kind,
    /// Description, a phrase without a full stop.
    pub about: &'static str,
    /// Whether the value may be missing.
    pub presence: Presence,
}

/// A value's kind, with bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Text with `min` to `max` characters.
    Text {
        /// Minimum number of characters.
        min: usize,
        /// Maximum number of characters.
        max: usize,
    },
    /// The last argument: the remaining arguments on a text surface, joined by blanks, and text
    /// elsewhere.
    Rest {
        /// Maximum number of characters.
        max: usize,
    },
    /// An integer within bounds.
    Integer {
        /// Smallest value that is allowed.
        min: i64,
        /// Greatest value, at most 2^53 - 1.
        max: i64,
    },
    /// A finite number, at least 0.
    Duration,
    /// Either true or false.
    Boolean,
    /// A word from this list.
    Choice(&'static [&'static str]),
    /// A name with its own rule.
    Name(&'static Name),
    /// Values by name, such as `models.<agent>`.
    Map {
        /// Kind of the keys.
        key: &'static Name,
        /// Kind of the values.
        value: &'static Kind,
    },
}

/// Whether a value may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// The value must be present.
    Required,
    /// The value may be missing.
    Optional,
    /// A missing value becomes this value.
    Default(Assumed),
    /// Documented like a default. The handler decides, because the value depends on other input.
    Documented(Assumed),
}

/// A default's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assumed {
    /// A word of text.
    Word(&'static str),
    /// An integer within bounds.
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
    /// Returns an integer kind with values from `min` up.
    pub const fn at_least(min: i64) -> Self {
        Self::Integer { min, max: MAX_SAFE }
    }

    /// An integer within bounds.
    pub const fn within(min: i64, max: i64) -> Self {
        Self::Integer { min, max }
    }

    /// Returns whether the value takes the remaining arguments.
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
