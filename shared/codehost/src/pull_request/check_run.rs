//! The check run that shows the evidence on a pull request's head.

use serde::Serialize;

use super::evidence::{self, CheckResult, Evidence};
use crate::text::neutral_block;

/// The check run's name.
const NAME: &str = "ars";
/// Maximum annotations per check run. The host accepts 50 in a request.
const MAX_ANNOTATIONS: usize = 50;
/// Maximum length of an annotation in characters.
const MAX_ANNOTATION_CHARS: usize = 1_000;
/// Maximum length of an annotated path in characters.
const MAX_ANNOTATED_PATH_CHARS: usize = 500;

/// A completed check run, as the host reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckRun {
    name: &'static str,
    head_sha: String,
    /// The run and head, by which a check run from an earlier attempt is found.
    external_id: String,
    status: &'static str,
    conclusion: Conclusion,
    #[serde(skip_serializing_if = "Option::is_none")]
    details_url: Option<String>,
    output: Output,
}

/// How a check run concludes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Conclusion {
    /// A test or build passed at the head, and nothing failed there.
    Success,
    /// A test, build or linter failed at the head.
    Failure,
    /// No test or build ended at the head, which is no success.
    Neutral,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Output {
    title: String,
    summary: String,
    annotations: Vec<Annotation>,
}

/// A failure at a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Annotation {
    path: String,
    start_line: u64,
    end_line: u64,
    annotation_level: &'static str,
    message: String,
}

/// Builds the check run for the evidence. Results at another commit neither pass nor fail it.
pub fn check_run(run_id: &str, evidence: &Evidence) -> CheckRun {
    let at_head = evidence
        .checks
        .iter()
        .filter(|check| check.head.as_ref() == Some(&evidence.head));
    let (mut passed, mut failed, mut is_verified, mut annotations) = (0, 0, false, Vec::new());
    for check in at_head {
        match &check.result {
            CheckResult::Passed => {
                passed += 1;
                is_verified |= check.verifies();
            }
            CheckResult::Failed { output } => {
                failed += 1;
                annotations.extend(output.lines().filter_map(annotation));
            }
            CheckResult::Unfinished => {}
        }
    }
    annotations.truncate(MAX_ANNOTATIONS);
    let conclusion = match (failed, is_verified) {
        (0, true) => Conclusion::Success,
        (0, false) => Conclusion::Neutral,
        (_, _) => Conclusion::Failure,
    };
    CheckRun {
        name: NAME,
        head_sha: evidence.head.to_string(),
        external_id: format!("{run_id}:{}", evidence.head),
        status: "completed",
        conclusion,
        details_url: evidence.run_url.clone(),
        output: Output {
            title: format!("{passed} passed, {failed} failed"),
            summary: evidence::render(evidence),
            annotations,
        },
    }
}

/// Reads `path:line[:column]: message`, as compilers print it.
fn annotation(line: &str) -> Option<Annotation> {
    let (path, rest) = line.trim_start().split_once(':')?;
    let (number, mut message) = rest.split_once(':')?;
    let start_line: u64 = number.parse().ok().filter(|number| *number > 0)?;
    if let Some((column, after)) = message.split_once(':')
        && column.parse::<u64>().is_ok()
    {
        message = after;
    }
    // The path belongs to the repository, and is no time or address.
    let is_inside =
        !path.starts_with('/') && path.split('/').all(|part| !matches!(part, "" | "." | ".."));
    let is_path = path.contains(['/', '.']) && path.len() <= MAX_ANNOTATED_PATH_CHARS;
    let is_plain =
        !path.contains(|char: char| char.is_whitespace() || char.is_control() || char == '\\');
    let message = neutral_block(message.trim(), MAX_ANNOTATION_CHARS);
    (is_inside && is_path && is_plain && !message.is_empty()).then(|| Annotation {
        path: path.to_owned(),
        start_line,
        end_line: start_line,
        annotation_level: "failure",
        message,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{diff::Commit, pull_request::Check};

    fn commit(digit: &str) -> Commit {
        Commit::parse(&digit.repeat(40)).unwrap()
    }

    fn shown(checks: &[(&str, CheckResult)]) -> Value {
        shown_as("test", checks)
    }

    fn shown_as(name: &str, checks: &[(&str, CheckResult)]) -> Value {
        let check = |(head, result): &(&str, CheckResult)| Check {
            name: name.to_owned(),
            command: "make test".into(),
            head: Some(commit(head)),
            result: result.clone(),
        };
        let evidence = Evidence {
            head: commit("a"),
            run_url: None,
            cost_micro_usd: None,
            refers_to: None,
            is_marked_draft: false,
            checks: checks.iter().map(check).collect(),
            expected: Vec::new(),
        };
        serde_json::to_value(check_run("r1", &evidence)).unwrap()
    }

    fn failed(output: &str) -> CheckResult {
        CheckResult::Failed {
            output: output.to_owned(),
        }
    }

    #[test]
    fn results_at_the_head_conclude() {
        let passed = || CheckResult::Passed;
        for (checks, expected) in [
            (vec![("a", passed())], "success"),
            (
                vec![("a", passed()), ("a", failed("")), ("a", passed())],
                "failure",
            ),
            (vec![("a", passed()), ("b", failed(""))], "success"),
            (vec![("b", passed())], "neutral"),
            (vec![("a", CheckResult::Unfinished)], "neutral"),
            (vec![], "neutral"),
        ] {
            assert_eq!(shown(&checks)["conclusion"], expected, "{checks:?}");
        }
    }

    #[test]
    fn linter_alone_is_no_success() {
        for (result, expected) in [(CheckResult::Passed, "neutral"), (failed(""), "failure")] {
            assert_eq!(shown_as("lint", &[("a", result)])["conclusion"], expected);
        }
        assert_eq!(
            shown_as("build", &[("a", CheckResult::Passed)])["conclusion"],
            "success"
        );
    }

    #[test]
    fn failures_with_a_line_are_annotated() {
        let run = shown(&[(
            "a",
            failed("src/a.rs:12:5: error: ask @ann\n  lib.py:3: boom"),
        )]);
        let annotation = |path: &str, line: u64, message: &str| {
            json!({
                "path": path, "start_line": line, "end_line": line, "annotation_level": "failure", "message": message,
            })
        };
        let expected = json!([
            annotation("src/a.rs", 12, "error: ask @\u{200b}ann"),
            annotation("lib.py", 3, "boom")
        ]);
        assert_eq!(run["output"]["annotations"], expected);
        let keys = (&run["name"], &run["status"], &run["external_id"]);
        assert_eq!(
            keys,
            (
                &json!("ars"),
                &json!("completed"),
                &json!(format!("r1:{}", "a".repeat(40)))
            )
        );
    }

    #[test]
    fn other_lines_are_not_annotated() {
        for line in [
            "12:30:01: started",
            "https://h.example:80: x",
            "/etc/passwd:1: x",
            "../a.rs:1: x",
            "a b.rs:1: x",
            "a.rs:0: x",
            "a.rs:1:",
            "error: a.rs",
        ] {
            assert_eq!(
                shown(&[("a", failed(line))])["output"]["annotations"],
                json!([]),
                "{line}"
            );
        }
        let many = shown(&[("a", failed(&"a.rs:1: x\n".repeat(80)))]);
        assert_eq!(
            many["output"]["annotations"].as_array().unwrap().len(),
            MAX_ANNOTATIONS
        );
    }
}
