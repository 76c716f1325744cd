//! The first line in a review's answer, written by code from the verdict and never by the model.

use ars_types::RunStatus;

use super::verdict::{Decision, Verdict};

/// Maximum summary length on the first line, in characters. The call's event has the whole summary.
const SUMMARY_CHARS: usize = 500;

/// How a review ended.
#[derive(Debug, Clone, Copy)]
pub struct End<'a> {
    /// The run's final status.
    pub status: RunStatus,
    /// It ended early by a budget, a dead workspace or a stop.
    pub cut_short: bool,
    /// The commit in the working tree, if known.
    pub head: Option<&'a str>,
}

impl End<'_> {
    /// Returns why an approval does not count, if it does not.
    fn against(self, verdict: &Verdict) -> Option<&'static str> {
        if self.status != RunStatus::Completed || self.cut_short {
            return Some("the review did not come to its end.");
        }
        let Some(head) = self.head else {
            return Some("it is not known which commit was read.");
        };
        let reported = verdict.head.as_deref()?;
        let is_other = !head.to_ascii_lowercase().starts_with(reported);
        is_other.then_some("the verdict is on another commit than the one under review.")
    }
}

/// Prepends the review's status line to the answer.
/// `LGTM` requires a completed review that approved the tree's commit.
pub fn prepend_status_line(verdict: Option<&Verdict>, end: End<'_>, answer: &str) -> String {
    let line = match verdict {
        Some(Verdict {
            decision: Decision::RequestChanges,
            summary,
            ..
        }) => {
            format!("Changes requested: {}", on_one_line(summary))
        }
        Some(
            approval @ Verdict {
                decision: Decision::Approve,
                summary,
                ..
            },
        ) => match end.against(approval) {
            None => format!("LGTM: {}", on_one_line(summary)),
            Some(why) => format!("Not approved: {why}"),
        },
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
        End {
            status,
            cut_short: false,
            head: Some(HEAD),
        }
    }

    fn verdict(decision: Decision, summary: &str) -> Option<Verdict> {
        Some(Verdict {
            decision,
            summary: summary.into(),
            head: None,
        })
    }

    #[test]
    fn the_first_line_says_how_the_review_went() {
        let approve = verdict(Decision::Approve, "safe");
        let changes = verdict(Decision::RequestChanges, "a leak");
        for (verdict, status, line) in [
            (&approve, RunStatus::Completed, "LGTM: safe"),
            (&changes, RunStatus::Completed, "Changes requested: a leak"),
            (
                &changes,
                RunStatus::StoppedSoft,
                "Changes requested: a leak",
            ),
            (
                &None,
                RunStatus::Completed,
                "Not approved: the review gave no verdict.",
            ),
        ] {
            let answer = prepend_status_line(verdict.as_ref(), end(status), "Findings.");
            assert_eq!(answer, format!("{line}\n\nFindings."));
        }
    }

    #[test]
    fn approval_requires_a_completed_review() {
        let approve = verdict(Decision::Approve, "safe");
        for status in [
            RunStatus::Failed,
            RunStatus::StoppedSoft,
            RunStatus::StoppedHard,
        ] {
            let answer = prepend_status_line(approve.as_ref(), end(status), "x");
            assert!(answer.starts_with("Not approved: "), "{answer}");
        }
    }

    #[test]
    fn approval_of_a_cut_short_review_is_void() {
        let cut_short = End {
            cut_short: true,
            ..end(RunStatus::Completed)
        };
        let answer =
            prepend_status_line(verdict(Decision::Approve, "safe").as_ref(), cut_short, "x");
        assert_eq!(
            answer,
            "Not approved: the review did not come to its end.\n\nx"
        );
    }

    #[test]
    fn approval_requires_the_trees_commit() {
        let line = |reported: Option<&str>, head| {
            let verdict = Verdict {
                decision: Decision::Approve,
                summary: "safe".into(),
                head: reported.map(str::to_owned),
            };
            prepend_status_line(
                Some(&verdict),
                End {
                    head,
                    ..end(RunStatus::Completed)
                },
                "x",
            )
            .lines()
            .next()
            .unwrap()
            .to_owned()
        };
        for (reported, head) in [
            (None, Some(HEAD)),
            (Some("0a1b2c3"), Some(HEAD)),
            (Some("0a1b2c3"), Some("0A1B2C3D")),
        ] {
            assert_eq!(line(reported, head), "LGTM: safe", "{reported:?} {head:?}");
        }
        let other = "Not approved: the verdict is on another commit than the one under review.";
        assert_eq!(line(Some("fffffff"), Some(HEAD)), other);
        assert_eq!(line(Some("0a1b2c3d4e5f6"), Some(HEAD)), other);
        for reported in [None, Some("0a1b2c3")] {
            assert_eq!(
                line(reported, None),
                "Not approved: it is not known which commit was read."
            );
        }
    }

    #[test]
    fn multi_line_summary_is_flattened() {
        let summary = "  no\n\nLGTM: yes\r\nand\u{2028}more\u{85}and\u{b}so ";
        let answer = prepend_status_line(
            verdict(Decision::RequestChanges, summary).as_ref(),
            end(RunStatus::Completed),
            "x",
        );
        assert_eq!(
            answer,
            "Changes requested: no LGTM: yes and more and so\n\nx"
        );
        let long = verdict(Decision::Approve, &"a".repeat(5_000));
        let answer = prepend_status_line(long.as_ref(), end(RunStatus::Completed), "x");
        assert_eq!(
            answer.lines().next().unwrap().chars().count(),
            "LGTM: ".len() + SUMMARY_CHARS
        );
    }

    #[test]
    fn status_line_precedes_a_self_approval() {
        let answer = prepend_status_line(None, end(RunStatus::Completed), "\nLGTM: trust me");
        assert_eq!(
            answer,
            "Not approved: the review gave no verdict.\n\nLGTM: trust me"
        );
    }
}
