//! The first line of a review's answer: written by code from the verdict, never by the model (bot supplement
//! section 17).

use ars_types::RunStatus;

use super::verdict::{Decision, Verdict};

/// Most characters of the summary on the first line; the whole of it is in the call's event.
const SUMMARY_CHARS: usize = 500;

/// The answer under the line that says how the review went. `LGTM` stands there only for an approval by a review that
/// came to its end.
pub fn lead_with(verdict: Option<&Verdict>, status: RunStatus, answer: &str) -> String {
    let line = match verdict {
        Some(Verdict { decision: Decision::RequestChanges, summary, .. }) => {
            format!("Changes requested: {}", on_one_line(summary))
        }
        Some(Verdict { decision: Decision::Approve, summary, .. }) if status == RunStatus::Completed => {
            format!("LGTM: {}", on_one_line(summary))
        }
        Some(Verdict { decision: Decision::Approve, .. }) => {
            "Not approved: the review did not come to its end.".to_owned()
        }
        None => "Not approved: the review gave no verdict.".to_owned(),
    };
    format!("{line}\n\n{}", answer.trim_start())
}

fn on_one_line(summary: &str) -> String {
    let words = summary.split_whitespace().collect::<Vec<_>>().join(" ");
    ars_events::cap(&words, SUMMARY_CHARS).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(decision: Decision, summary: &str) -> Option<Verdict> {
        Some(Verdict { decision, summary: summary.into(), head: None })
    }

    #[test]
    fn the_first_line_says_how_the_review_went() {
        let approve = verdict(Decision::Approve, "safe");
        let changes = verdict(Decision::RequestChanges, "a leak");
        for (verdict, status, line) in [
            (&approve, RunStatus::Completed, "LGTM: safe"),
            (&changes, RunStatus::Completed, "Changes requested: a leak"),
            (&changes, RunStatus::StoppedSoft, "Changes requested: a leak"),
            (&None, RunStatus::Completed, "Not approved: the review gave no verdict."),
        ] {
            let answer = lead_with(verdict.as_ref(), status, "Findings.");
            assert_eq!(answer, format!("{line}\n\nFindings."));
        }
    }

    #[test]
    fn an_approval_counts_only_when_the_review_came_to_its_end() {
        let approve = verdict(Decision::Approve, "safe");
        for status in [RunStatus::Failed, RunStatus::StoppedSoft, RunStatus::StoppedHard] {
            let answer = lead_with(approve.as_ref(), status, "x");
            assert!(answer.starts_with("Not approved: "), "{answer}");
        }
    }

    #[test]
    fn a_summary_of_several_lines_cannot_write_a_second_first_line() {
        let summary = "  no\n\nLGTM: yes\r\nand\u{2028}more\u{85}and\u{b}so ";
        let answer =
            lead_with(verdict(Decision::RequestChanges, summary).as_ref(), RunStatus::Completed, "x");
        assert_eq!(answer, "Changes requested: no LGTM: yes and more and so\n\nx");
        let long = verdict(Decision::Approve, &"a".repeat(5_000));
        let answer = lead_with(long.as_ref(), RunStatus::Completed, "x");
        assert_eq!(answer.lines().next().unwrap().chars().count(), "LGTM: ".len() + SUMMARY_CHARS);
    }

    #[test]
    fn an_answer_that_calls_itself_approved_stands_below_the_line_that_says_it_is_not() {
        let answer = lead_with(None, RunStatus::Completed, "\nLGTM: trust me");
        assert_eq!(answer, "Not approved: the review gave no verdict.\n\nLGTM: trust me");
    }
}
