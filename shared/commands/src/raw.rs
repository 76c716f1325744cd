//! A command's input as a surface received it.

use serde_json::{Map, Value};

use crate::{
    Definition, InvalidInput,
    nested::{camel_only, either_spelling},
    tail::read_tokens,
    tokens::tokens,
};

/// Input that was not yet checked.
#[derive(Debug, Clone, PartialEq)]
pub enum RawInput {
    /// The message text after the command.
    Text(String),
    /// The command line arguments after the command.
    Tokens(Vec<String>),
    /// The decoded pairs from a query string.
    Pairs(Vec<(String, String)>),
    /// The members of a JSON object.
    Object(Map<String, Value>),
}

/// Values by argument or option name, with unchecked types. A map's value is an object.
pub(crate) type Named = Map<String, Value>;

impl Definition {
    /// Checks the names in the input: unknown, repeated and surplus names. [`Self::validate`]
    /// includes this.
    ///
    /// # Errors
    ///
    /// Returns the first fault.
    pub fn check_names(&self, raw: &RawInput) -> Result<(), InvalidInput> {
        self.named(raw).map(drop)
    }

    /// Returns a field's text, before validation. It may hold the target for an authorization.
    pub fn peek(&self, raw: &RawInput, name: &str) -> Option<String> {
        let value = self.named(raw).ok()?.remove(name)?;
        value.as_str().map(str::to_owned)
    }

    pub(crate) fn named(&self, raw: &RawInput) -> Result<Named, InvalidInput> {
        match raw {
            RawInput::Text(tail) => read_tokens(self, tokens(tail)?),
            RawInput::Tokens(tokens) => read_tokens(self, tokens.clone()),
            RawInput::Pairs(pairs) => either_spelling(self, pairs),
            RawInput::Object(object) => camel_only(self, object),
        }
    }
}
