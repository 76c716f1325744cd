//! A run's events as terminal lines, a step each. Events are redacted when they are published.

use serde_json::Value;

use super::Style;

/// Maximum line length in characters.
const LINE_CHARS: usize = 160;

/// Formats events as lines.
#[derive(Debug, Clone, Copy)]
pub struct Steps {
    style: Style,
}

impl Steps {
    /// Formats in this style.
    pub fn new(style: Style) -> Self {
        Self { style }
    }

    /// Returns a JSON event's lines; `None` for kinds without steps (spans, unknown ones).
    pub fn lines(&self, event: &Value) -> Option<String> {
        let text = |field: &str| event.get(field).and_then(Value::as_str).unwrap_or_default();
        let style = self.style;
        Some(match text("type") {
            "run_meta" => {
                let sandbox = text("sandbox");
                let sandbox = if sandbox.is_empty() {
                    String::new()
                } else {
                    format!("sandbox: {sandbox}")
                };
                let facts = [text("agent"), text("model"), text("repo"), &sandbox];
                let facts: Vec<_> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
                let skipped = text("sandboxSkipped");
                let skipped = if skipped.is_empty() {
                    String::new()
                } else {
                    format!("\n! a stronger sandbox is missing: {skipped}")
                };
                style.dim(&format!("· {}{skipped}", facts.join(" · ")))
            }
            "assistant" => text("text")
                .lines()
                .map(|line| format!("  {line}"))
                .collect::<Vec<_>>()
                .join("\n"),
            "tool_call" => format!("{} {}", style.bold("▸"), short(text("summary"))),
            "tool_result" => self.result(event, text("summary")),
            "run_note" => style.dim(&format!("! {}", short(text("summary")))),
            _ => return None,
        })
    }

    fn result(&self, event: &Value, summary: &str) -> String {
        let ok = event.get("ok").and_then(Value::as_bool).unwrap_or(true);
        let mark = if ok {
            self.style.good("✓")
        } else {
            self.style.bad("✗")
        };
        let detail = match event.get("exitCode").and_then(Value::as_i64) {
            Some(code) if code != 0 => failed_command(code, event),
            Some(_) | None => summary.to_owned(),
        };
        format!("  {mark} {}", self.style.dim(&short(&detail)))
    }
}

/// Returns the exit code and the command's first output line, after a line that only repeats the code.
fn failed_command(code: i64, event: &Value) -> String {
    let output = event
        .get("output")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let mut lines = output
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let repeats_the_code = |line: &str| {
        line.strip_prefix("exit ")
            .is_some_and(|rest| rest.ends_with(':'))
    };
    let own = lines.find(|line| !repeats_the_code(line));
    own.map_or_else(
        || format!("exit {code}"),
        |line| format!("exit {code}: {line}"),
    )
}

fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() <= LINE_CHARS {
        return line.to_owned();
    }
    let kept: String = line.chars().take(LINE_CHARS - 1).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_step_is_one_line() {
        let steps = Steps::new(Style::Plain);
        let line = |event| steps.lines(&event);
        assert_eq!(
            line(json!({"type": "tool_call", "tool": "bash", "summary": "$ make\ntest"})),
            Some("▸ $ make".into())
        );
        assert_eq!(
            line(json!({"type": "tool_result", "ok": false, "exitCode": 2, "summary": "exit 2:"})),
            Some("  ✗ exit 2".into())
        );
        assert_eq!(
            line(
                json!({"type": "tool_result", "ok": false, "exitCode": 2, "output": "exit 2:\n\n boom\nmore"})
            ),
            Some("  ✗ exit 2: boom".into())
        );
        assert_eq!(
            line(json!({"type": "run_meta", "agent": "coding", "model": "a/b"})),
            Some("· coding · a/b".into())
        );
        let meta = json!({"type": "run_meta", "agent": "coding", "sandbox": "landlock", "sandboxSkipped": "bwrap"});
        assert_eq!(
            line(meta),
            Some("· coding · sandbox: landlock\n! a stronger sandbox is missing: bwrap".into())
        );
        assert_eq!(line(json!({"type": "span_end", "name": "tool.bash"})), None);
        assert_eq!(line(json!({"type": "a_later_kind"})), None);
        assert_eq!(
            line(json!({"type": "tool_call", "summary": "x".repeat(500)}))
                .map(|l| l.chars().count()),
            Some(162)
        );
    }

    #[test]
    fn colour_follows_the_style() {
        let event = json!({"type": "tool_result", "ok": true, "summary": "fine"});
        assert!(
            !Steps::new(Style::Plain)
                .lines(&event)
                .unwrap_or_default()
                .contains('\x1b')
        );
        assert!(
            Steps::new(Style::Colour)
                .lines(&event)
                .unwrap_or_default()
                .contains('\x1b')
        );
        assert_eq!(Style::choose(true, true), Style::Plain);
    }
}
