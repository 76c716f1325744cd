//! The first line of a review's answer: written by code from the verdict, never by the model (bot supplement
//! section 17).

use ars_types::RunStatus;

use super::verdict::{Decision, Verdict};

/// Most characters of the summary on the first line; the whole of it is in the call's event.
const SUMMARY_CHARS: usize = 500;

/// How a review ended.
#[derive(Debug, Clone, Copy)]
pub struct End<'a> {
    /// The run's status.
    pub status: RunStatus,
    /// A budget, a dead workspace or a stop ended it.
    pub cut_short: bool,
    /// The commit its tree stands on, when that is known.
    pub head: Option<&'a str>,
}

impl End<'_> {
    /// Why an approval does not count, if it does not.
    fn against(self, verdict: &Verdict) -> Option<&'static str> {
        if self.status != RunStatus::Completed || self.cut_short {
            return Some("the review did not come to its end.");
        }
        let reported = verdict.head.as_deref()?;
        let is_other = !self.head?.to_ascii_lowercase().starts_with(reported);
        is_other.then_some("the verdict is on another commit than the one under review.")
    }
}

/// The answer under the line that says how the review went. `LGTM` stands there only for an approval of the commit in
/// the tree by a review that came to its end.
pub fn lead_with(verdict: Option<&Verdict>, end: End<'_>, answer: &str) -> String {
    let line = match verdict {
        Some(Verdict { decision: Decision::RequestChanges, summary, .. }) => {
            format!("Changes requested: {}", on_one_line(summary))
        }
        Some(approval @ Verdict { decision: Decision::Approve, summary, .. }) => {
            match end.against(approval) {
                None => format!("LGTM: {}", on_one_line(summary)),
                Some(why) => format!("Not approved: {why}"),
            }
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

    const HEAD: &str = "0a1b2c3d4e5f";

    fn end(status: RunStatus) -> End<'static> {
        End { status, cut_short: false, head: Some(HEAD) }
    }

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
            let answer = lead_with(verdict.as_ref(), end(status), "Findings.");
            assert_eq!(answer, format!("{line}\n\nFindings."));
        }
    }

    #[test]
    fn an_approval_counts_only_when_the_review_came_to_its_end() {
        let approve = verdict(Decision::Approve, "safe");
        for status in [RunStatus::Failed, RunStatus::StoppedSoft, RunStatus::StoppedHard] {
            let answer = lead_with(approve.as_ref(), end(status), "x");
            assert!(answer.starts_with("Not approved: "), "{answer}");
        }
    }

    #[test]
    fn an_approval_by_a_review_that_was_cut_short_does_not_count() {
        let cut_short = End { cut_short: true, ..end(RunStatus::Completed) };
        let answer = lead_with(verdict(Decision::Approve, "safe").as_ref(), cut_short, "x");
        assert_eq!(answer, "Not approved: the review did not come to its end.\n\nx");
    }

    #[test]
    fn an_approval_counts_only_for_the_commit_in_the_tree() {
        let line = |reported: Option<&str>, head| {
            let verdict = Verdict {
                decision: Decision::Approve,
                summary: "safe".into(),
                head: reported.map(str::to_owned),
            };
            lead_with(Some(&verdict), End { head, ..end(RunStatus::Completed) }, "x")
                .lines()
                .next()
                .unwrap()
                .to_owned()
        };
        for (reported, head) in [
            (None, Some(HEAD)),
            (Some("0a1b2c3"), Some(HEAD)),
            (Some("0a1b2c3"), Some("0A1B2C3D")),
            (Some("fffffff"), None),
        ] {
            assert_eq!(line(reported, head), "LGTM: safe", "{reported:?} {head:?}");
        }
        let other = "Not approved: the verdict is on another commit than the one under review.";
        assert_eq!(line(Some("fffffff"), Some(HEAD)), other);
        assert_eq!(line(Some("0a1b2c3d4e5f6"), Some(HEAD)), other);
    }

    #[test]
    fn a_summary_of_several_lines_cannot_write_a_second_first_line() {
        let summary = "  no\n\nLGTM: yes\r\nand\u{2028}more\u{85}and\u{b}so ";
        let answer =
            lead_with(verdict(Decision::RequestChanges, summary).as_ref(), end(RunStatus::Completed), "x");
        assert_eq!(answer, "Changes requested: no LGTM: yes and more and so\n\nx");
        let long = verdict(Decision::Approve, &"a".repeat(5_000));
        let answer = lead_with(long.as_ref(), end(RunStatus::Completed), "x");
        assert_eq!(answer.lines().next().unwrap().chars().count(), "LGTM: ".len() + SUMMARY_CHARS);
    }

    #[test]
    fn an_answer_that_calls_itself_approved_stands_below_the_line_that_says_it_is_not() {
        let answer = lead_with(None, end(RunStatus::Completed), "\nLGTM: trust me");
        assert_eq!(answer, "Not approved: the review gave no verdict.\n\nLGTM: trust me");
    }
}
