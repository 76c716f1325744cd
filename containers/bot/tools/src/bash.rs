//! `bash`: runs a command in the workspace (docs/reference/agents-and-tools.md#tools).

use std::{borrow::Cow, time::Duration};

use ars_agent::{
    ToolSpec,
    context::{Kept, is_oversized, referenced},
};
use ars_bot_ports::{ExecOutcome, ExecRequest};
use ars_events::{EventBody, NoteKind};
use async_trait::async_trait;
use serde_json::{Value, json};

use super::{
    Effects, Need, Tool, ToolContext, ToolOutput,
    args::{Args, one_line, peek},
    terminal,
};

/// Longest command. A longer text is written by `write_file`.
const COMMAND_BYTES_MAX: usize = 1 << 20;
/// Default timeout in milliseconds.
const DEFAULT_TIMEOUT_MS: u64 = 300_000;
/// Minimum timeout in milliseconds. A shorter timeout is raised to it.
const MIN_TIMEOUT_MS: u64 = 1_000;
/// Maximum timeout in milliseconds. A longer timeout is lowered to it.
const MAX_TIMEOUT_MS: u64 = 1_200_000;
/// Time reserved for the run's answer.
const RESERVE: Duration = Duration::from_secs(60);
/// Maximum characters of output shown to the model.
const OUTPUT_CHARS: usize = 30_000;
/// Bytes kept from a command's output. The model can read the part that is not shown in a file.
const OUTPUT_BYTES: usize = 4 << 20;
/// Characters reserved from these for the truncation note.
const NOTE_CHARS: usize = 60;
/// A command's exit code after a timeout, as in a shell.
const TIMED_OUT: i32 = 124;

pub(super) struct Bash;

#[async_trait]
impl Tool for Bash {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "bash".into(),
            description:
                "Runs a command with bash at the root of the working tree and returns its output. There is \
                          no terminal and no input. The command and all it started are killed at the timeout."
                    .into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "command": {"type": "string", "description": "The command."},
                    "timeoutMs": {
                        "type": "integer", "minimum": MIN_TIMEOUT_MS, "maximum": MAX_TIMEOUT_MS,
                        "description": "Milliseconds until it is killed; 300000 when left out."
                    }
                },
                "required": ["command"],
                "additionalProperties": false
            }),
        }
    }

    fn needs(&self) -> &'static [Need] {
        &[]
    }

    fn effects(&self) -> Effects {
        Effects::Mutating
    }

    fn summary(&self, input: &Value) -> String {
        format!("$ {}", one_line(peek(input, "command")))
    }

    /// The command's process group is killed.
    fn needs_cleanup(&self) -> bool {
        true
    }

    async fn run(&self, context: ToolContext<'_>, input: &Value) -> ToolOutput {
        match run(context, input).await {
            Ok(output) | Err(output) => output,
        }
    }
}

async fn run(context: ToolContext<'_>, input: &Value) -> Result<ToolOutput, ToolOutput> {
    let args = Args::parse(input, &["command", "timeoutMs"])?;
    let command = args.text("command")?;
    if command.trim().is_empty() {
        return Err(ToolOutput::refused("`command` must not be blank."));
    }
    if command.contains('\0') {
        return Err(ToolOutput::refused(
            "`command` must not contain a zero byte; write it as an escape.",
        ));
    }
    if command.len() > COMMAND_BYTES_MAX {
        return Err(ToolOutput::refused(format!(
            "`command` has {} bytes, and at most {COMMAND_BYTES_MAX} are run; write long text with write_file.",
            command.len()
        )));
    }
    let wanted = args
        .optional_count("timeoutMs")?
        .unwrap_or(DEFAULT_TIMEOUT_MS);
    let workspace = context.workspace()?;
    let Some(timeout) = timeout(wanted, context.remaining) else {
        let text = format!("exit {TIMED_OUT}:\nThe run has no time left for commands. Answer now.");
        return Err(ToolOutput {
            exit_code: Some(TIMED_OUT),
            ..ToolOutput::refused(text)
        });
    };
    let request = ExecRequest {
        command,
        timeout,
        output_limit: OUTPUT_BYTES,
    };
    let mut outcome = workspace
        .exec(request, context.cancel)
        .await
        .map_err(ToolOutput::from)?;
    outcome.output = (context.run.hide)(outcome.output);
    for refused in &outcome.refused {
        (context.run.publish)(EventBody::note(
            NoteKind::EgressRefused,
            refused.to_string(),
        ));
    }
    let mut raw = None;
    if let Some(plain) = terminal::plain(&outcome.output) {
        let hidden = (context.run.hide)(plain.clone());
        // Codes between the letters hid a secret in the raw text, which is cut before it is
        // searched again.
        let has_secret = hidden != plain;
        raw = Some(std::mem::replace(&mut outcome.output, hidden)).filter(|_| !has_secret);
    }
    let kept = match is_oversized(&outcome.output, OUTPUT_CHARS) {
        // Best effort: without the file the model still sees both ends.
        true => workspace.keep_output(&outcome.output).await.ok(),
        false => None,
    };
    let mut output = describe(&outcome, timeout, kept.as_deref());
    if let Some(raw) = raw {
        let raw = ExecOutcome {
            output: terminal::every_state(&raw),
            ..outcome
        };
        output.raw = Some(describe_text(&raw, timeout, None));
    }
    Ok(output)
}

/// Returns the timeout within the bounds and the run's remaining time, or `None` inside the
/// reserve.
fn timeout(wanted_ms: u64, remaining: Duration) -> Option<Duration> {
    let available = remaining
        .checked_sub(RESERVE)
        .filter(|left| !left.is_zero())?;
    Some(Duration::from_millis(wanted_ms.clamp(MIN_TIMEOUT_MS, MAX_TIMEOUT_MS)).min(available))
}

/// Returns the text for the model. A failed command's output starts with a line for the exit code.
fn describe(outcome: &ExecOutcome, timeout: Duration, kept: Option<&str>) -> ToolOutput {
    let text = describe_text(outcome, timeout, kept);
    ToolOutput {
        ok: outcome.exit_code == 0,
        exit_code: Some(outcome.exit_code),
        ..ToolOutput::text(text)
    }
}

fn describe_text(outcome: &ExecOutcome, timeout: Duration, kept: Option<&str>) -> String {
    let mut text = String::new();
    if outcome.exit_code != 0 {
        text.push_str(&format!("exit {}:\n", outcome.exit_code));
    }
    if outcome.timed_out {
        text.push_str(&format!(
            "(killed with all it had started after {} s)\n",
            timeout.as_secs()
        ));
    }
    for reached in &outcome.reached {
        text.push_str(&format!("({reached})\n"));
    }
    // First, because it explains why a client fails that does not print a proxy's response.
    for refused in &outcome.refused {
        text.push_str(&format!("({refused})\n"));
    }
    let left = OUTPUT_CHARS - text.chars().count();
    // The file has the output as the workspace returned it, which may be both ends only.
    let kept = kept.map(|path| {
        if outcome.truncated {
            Kept::Ends(path)
        } else {
            Kept::Whole(path)
        }
    });
    match kept {
        Some(kept) => text.push_str(&referenced(
            &outcome.output,
            left.saturating_sub(NOTE_CHARS * 2),
            kept,
        )),
        None => text.push_str(&middle_cut(&outcome.output, left, outcome.truncated)),
    }
    if text.is_empty() {
        text.push_str("(no output)");
    }
    text
}

/// Keeps both ends, because the cause is often printed first and the outcome last.
/// An output that the workspace `already` truncated lost far more than is cut here, so the note then names no number.
fn middle_cut(text: &str, max_chars: usize, already: bool) -> Cow<'_, str> {
    let total = text.chars().count();
    if total <= max_chars {
        return Cow::Borrowed(text);
    }
    let half = max_chars.saturating_sub(NOTE_CHARS) / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(total - half).collect();
    let note = match already {
        true => "most of the output is left out".to_owned(),
        false => format!("{} characters left out", total - 2 * half),
    };
    Cow::Owned(format!("{head}\n[… {note} …]\n{tail}"))
}

#[cfg(test)]
mod tests {
    use ars_bot_ports::ReachedLimit;

    use super::*;

    #[test]
    fn timeout_is_clamped_below_the_reserve() {
        let long = Duration::from_secs(3600);
        assert_eq!(timeout(1, long), Some(Duration::from_secs(1)));
        assert_eq!(timeout(u64::MAX, long), Some(Duration::from_secs(1200)));
        assert_eq!(
            timeout(300_000, Duration::from_secs(100)),
            Some(Duration::from_secs(40))
        );
        assert_eq!(timeout(300_000, RESERVE), None);
    }

    #[test]
    fn a_silent_success_is_not_an_empty_text() {
        let outcome = ExecOutcome::default();
        assert_eq!(
            describe(&outcome, RESERVE, None),
            ToolOutput {
                exit_code: Some(0),
                ..ToolOutput::text("(no output)")
            }
        );
    }

    #[test]
    fn long_output_keeps_both_ends() {
        let long = format!("first{}last", "é".repeat(500));
        let cut = middle_cut(&long, 100, false);
        assert!(cut.starts_with("first") && cut.ends_with("last"));
        assert!(
            cut.contains("469 characters left out") && cut.chars().count() <= 100,
            "{cut}"
        );
        let cut = middle_cut(&long, 100, true);
        assert!(
            cut.contains("most of the output is left out") && cut.chars().count() <= 100,
            "{cut}"
        );
        assert_eq!(middle_cut("short", 5, true), "short");
    }

    #[test]
    fn truncated_output_file_is_not_called_complete() {
        let path = Some(".ars/outputs/0123456789ab.txt");
        for (truncated, said) in [
            (false, "the whole output is in .ars/"),
            (true, "not the whole, is in .ars/"),
        ] {
            let output = "x".repeat(OUTPUT_BYTES);
            let outcome = ExecOutcome {
                output,
                truncated,
                ..ExecOutcome::default()
            };
            let output = describe(&outcome, RESERVE, path);
            let text = crate::tests::said(&output);
            assert!(text.contains(said) && text.contains("the whole output") != truncated);
            assert!(text.chars().count() <= OUTPUT_CHARS);
        }
    }

    #[test]
    fn reached_limits_precede_the_output() {
        let reached = vec![
            ReachedLimit::Memory(6 << 30),
            ReachedLimit::Processes {
                max: 1_024,
                is_killed: true,
            },
        ];
        let outcome = ExecOutcome {
            exit_code: 137,
            output: "rest".into(),
            reached,
            ..ExecOutcome::default()
        };
        let text = crate::tests::said(&describe(&outcome, RESERVE, None)).to_owned();
        assert!(
            text.starts_with("exit 137:\n(the memory limit of a run was reached (6144 MiB), "),
            "{text}"
        );
        let processes = "(the process limit of a run was reached (1024 processes and threads), and they were killed; \
                         sandbox.limits.processes sets it)\nrest";
        assert!(text.ends_with(processes), "{text}");
    }

    #[test]
    fn timed_out_flood_reports_both() {
        let output = "x".repeat(OUTPUT_BYTES);
        let outcome = ExecOutcome {
            exit_code: TIMED_OUT,
            output,
            truncated: true,
            timed_out: true,
            refused: Vec::new(),
            reached: Vec::new(),
        };
        let output = describe(&outcome, Duration::from_secs(7), None);
        let text = crate::tests::said(&output);
        assert!(text.starts_with("exit 124:\n(killed with all it had started after 7 s)\nxxx"));
        assert!(text.chars().count() <= OUTPUT_CHARS);
    }
}
