//! Adds a run's tests and builds to the evidence.
//!
//! Only commands count that a shell cannot have hidden the exit code of
//! (`ars_codehost::pull_request::check_of`).

use ars_agent::ToolCall;
use ars_bot_ports::{GitRequest, Workspace};
use ars_bot_tools::ToolOutput;
use ars_codehost::pull_request::check_of;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    driver::Driver,
    evidence::StoredCheck,
    tool_events::{SHELL_TOOL, text_of},
    work::Work,
};

/// Maximum characters of a command and of the kept output.
const MAX_KEPT_CHARS: usize = 1_000;
/// Maximum size in bytes of git's output about changes; the first change decides.
const MAX_STATUS_BYTES: usize = 1_000;

impl Driver<'_> {
    /// Adds a command to the evidence, if it was a test or build.
    pub(super) async fn note_evidence(&self, call: &ToolCall, output: &ToolOutput) {
        let Work::Change {
            evidence: log,
            commands,
            ..
        } = &self.prepared.work
        else {
            return;
        };
        let Some(workspace) = &self.prepared.workspace else {
            return;
        };
        let command = call
            .input
            .get("command")
            .and_then(Value::as_str)
            .filter(|_| call.name == SHELL_TOOL);
        let Some(command) = command else { return };
        let (Some(name), Some(exit_code)) = (check_of(command, commands), output.exit_code) else {
            return;
        };
        let text = self.redactor.clean(&text_of(&output.content), usize::MAX);
        let from = text
            .char_indices()
            .rev()
            .nth(MAX_KEPT_CHARS - 1)
            .map_or(0, |(at, _)| at);
        log.push(StoredCheck {
            name: name.to_owned(),
            command: self.redactor.clean(command, MAX_KEPT_CHARS),
            head: clean_head(&**workspace).await,
            exit_code,
            output: if exit_code == 0 {
                String::new()
            } else {
                text[from..].to_owned()
            },
        });
        if let Some(tracked) = self.tracked {
            // The next step stores it.
            tracked.change(|state| state.evidence = log.to_state());
        }
    }
}

/// Returns the tree's commit, if it has no other changes and no files that git does not know.
async fn clean_head(workspace: &dyn Workspace) -> Option<String> {
    let arguments = ["status", "--porcelain", "--untracked-files=normal"];
    let request = GitRequest {
        arguments: &arguments,
        output_limit: MAX_STATUS_BYTES,
    };
    let status = workspace
        .git(request, &CancellationToken::new())
        .await
        .ok()?;
    let is_clean = status.exit_code == 0 && status.output.is_empty() && !status.truncated;
    if is_clean {
        workspace.head().await.ok()?
    } else {
        None
    }
}
