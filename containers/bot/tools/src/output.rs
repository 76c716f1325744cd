//! A tool call's output.

use ars_agent::{Sandbox, ToolContent, ToolOutcome};
use ars_bot_ports::WorkspaceError;

/// A tool call's output.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// `false` when the tool failed, and for bash when the command exited non-zero.
    pub ok: bool,
    /// Content for the model.
    pub content: Vec<ToolContent>,
    /// The command's exit code, for bash.
    pub exit_code: Option<i32>,
    /// The sandbox state, as far as the call observed it.
    pub sandbox: Sandbox,
    /// The text for people, if it is not the model's.
    pub raw: Option<String>,
}

impl ToolOutput {
    /// Creates a successful text output.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            ok: true,
            content: vec![ToolContent::Text { text: text.into() }],
            exit_code: None,
            sandbox: Sandbox::Untouched,
            raw: None,
        }
    }

    /// A failure text for the model.
    pub fn refused(text: impl Into<String>) -> Self {
        Self {
            ok: false,
            ..Self::text(text)
        }
    }

    /// Converts it to a call's outcome in the loop.
    pub fn into_outcome(self, call_id: &str) -> ToolOutcome {
        ToolOutcome {
            call_id: call_id.to_owned(),
            ok: self.ok,
            sandbox: self.sandbox,
            content: self.content,
        }
    }
}

impl From<ToolOutcome> for ToolOutput {
    fn from(outcome: ToolOutcome) -> Self {
        let ToolOutcome {
            ok,
            sandbox,
            content,
            ..
        } = outcome;
        Self {
            ok,
            content,
            exit_code: None,
            sandbox,
            raw: None,
        }
    }
}

impl From<WorkspaceError> for ToolOutput {
    /// Maps a broken workspace to an infrastructure failure and other errors to a text for the model.
    fn from(error: WorkspaceError) -> Self {
        match error {
            WorkspaceError::Infra(_) => Self {
                sandbox: Sandbox::Failed,
                ..Self::refused(error.to_string())
            },
            WorkspaceError::Busy => Self {
                sandbox: Sandbox::Busy,
                ..Self::refused(error.to_string())
            },
            WorkspaceError::Cancelled => Self::refused("stopped"),
            WorkspaceError::PathEscape(_)
            | WorkspaceError::NotFound(_)
            | WorkspaceError::Refused(_)
            | WorkspaceError::Clone(_) => Self::refused(error.to_string()),
        }
    }
}
