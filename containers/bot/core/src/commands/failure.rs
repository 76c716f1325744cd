//! An invocation's failure, as surfaces render it.

use ars_auth::Denied;
use ars_commands::{Capability, Definition, InvalidInput};
use ars_wire::ErrorCode;

use super::{error::CommandError, text};

/// Why an invocation has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The command, or `None` if unknown.
    pub command: Option<&'static str>,
    /// The error code, which fixes HTTP status, JSON-RPC code and exit code.
    pub code: ErrorCode,
    /// The text for the caller. Names fields, never their values.
    pub message: String,
    /// Who decided on this failure.
    pub decided_by: DecidedBy,
    /// The denial reason, for the audit line only.
    pub(super) denied: Option<Denied>,
}

/// The part that rejected or failed an invocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecidedBy {
    /// The registry: visibility, authorization, validation.
    Registry,
    /// The command's own handler decided.
    Handler,
}

impl DecidedBy {
    /// Returns the name for logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Registry => "registry",
            Self::Handler => "handler",
        }
    }
}

impl Failure {
    /// Returns the failure for a command that does not exist here.
    pub(super) fn unknown() -> Self {
        Self::registry(None, ErrorCode::NotFound, text::UNKNOWN.to_owned())
    }

    /// Returns the failure for a command with the capability off.
    pub(super) fn off(definition: &'static Definition) -> Self {
        let text = definition
            .capability
            .map_or(text::UNKNOWN, Capability::off_text);
        Self::registry(Some(definition), ErrorCode::NotFound, text.to_owned())
    }

    /// Returns the failure for a message that resembles a command.
    pub(super) fn mistyped(meant: &'static Definition) -> Self {
        let hint = format!(
            "{}: did you mean `{}`?",
            text::UNKNOWN,
            meant.id.replace('.', " ")
        );
        Self::registry(None, ErrorCode::NotFound, hint)
    }

    pub(super) fn denied(definition: &'static Definition, reason: Denied) -> Self {
        let failure = Self::registry(
            Some(definition),
            ErrorCode::Unauthorized,
            text::DENIED.to_owned(),
        );
        Self {
            denied: Some(reason),
            ..failure
        }
    }

    pub(super) fn invalid(definition: &'static Definition, error: &InvalidInput) -> Self {
        Self::registry(Some(definition), error.code(), error.to_string())
    }

    pub(super) fn of_handler(definition: &'static Definition, error: CommandError) -> Self {
        let CommandError {
            code,
            message,
            denied,
        } = error;
        Self {
            command: Some(definition.id),
            code,
            message,
            decided_by: DecidedBy::Handler,
            denied,
        }
    }

    fn registry(definition: Option<&'static Definition>, code: ErrorCode, message: String) -> Self {
        let command = definition.map(|definition| definition.id);
        Self {
            command,
            code,
            message,
            decided_by: DecidedBy::Registry,
            denied: None,
        }
    }

    /// Returns the failure as a chat message. A refusal and a fault begin with different signs.
    pub fn chat_text(&self) -> String {
        let sign = if self.code == ErrorCode::Unauthorized {
            "⛔"
        } else {
            "⚠️"
        };
        match self.command {
            Some(id) => format!("{sign} `{}`: {}", id.replace('.', " "), self.message),
            None => format!("{sign} {}", self.message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STOP: Definition = Definition::destructive("runs.stop", "runs:write", "Stops");

    #[test]
    fn chat_text_names_the_command() {
        assert_eq!(
            Failure::denied(&STOP, Denied::MissingGrant).chat_text(),
            "⛔ `runs stop`: you do not have permission to do this"
        );
        let missing = Failure::invalid(&STOP, &InvalidInput::Missing("mode"));
        assert_eq!(missing.chat_text(), "⚠️ `runs stop`: mode is missing");
        assert_eq!(
            Failure::unknown().chat_text(),
            "⚠️ there is no such command"
        );
    }
}
