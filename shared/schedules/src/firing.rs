//! A firing's outcome, derived from the run.
//!
//! Not here: the message that starts the run, and the firing store.

use ars_types::{RunId, RunStatus, UnixMillis};
use ars_wire::schedules::{Firing, Outcome};

/// Maximum length of a detail in characters, including the ellipsis.
pub const MAX_DETAIL_CHARS: usize = 300;

/// Returns a firing's thread, which it shares with no other.
pub fn thread(schedule: &str, fired_at: UnixMillis) -> String {
    format!("{schedule}-{fired_at}")
}

/// Returns the firing once the run ends. The detail has the reason if it did not complete.
pub fn ran(
    schedule: &str,
    fired_at: UnixMillis,
    run: &RunId,
    status: RunStatus,
    reason: Option<&str>,
) -> Firing {
    let detail = reason.and_then(detail);
    match outcome(status) {
        Some(outcome) => Firing {
            run_id: Some(run.to_string()),
            detail,
            ..new_firing(schedule, fired_at, outcome)
        },
        None => Firing {
            detail,
            ..new_firing(schedule, fired_at, Outcome::NoRun)
        },
    }
}

/// Returns the firing for a message that was answered without a run.
pub fn without_run(schedule: &str, fired_at: UnixMillis, reason: &str) -> Firing {
    Firing {
        detail: detail(reason),
        ..new_firing(schedule, fired_at, Outcome::NoRun)
    }
}

fn new_firing(schedule: &str, fired_at: UnixMillis, outcome: Outcome) -> Firing {
    Firing {
        schedule: schedule.to_owned(),
        fired_at,
        run_id: None,
        outcome,
        detail: None,
    }
}

/// Converts a run's status. The running process reports it, so `interrupted` cannot occur.
const fn outcome(status: RunStatus) -> Option<Outcome> {
    match status {
        RunStatus::Completed => Some(Outcome::Completed),
        RunStatus::Failed => Some(Outcome::Failed),
        RunStatus::StoppedSoft => Some(Outcome::StoppedSoft),
        RunStatus::StoppedHard => Some(Outcome::StoppedHard),
        RunStatus::Interrupted => None,
    }
}

/// Returns a line with at most [`MAX_DETAIL_CHARS`]; `None` for blank text. Reads a long text only
/// as far as needed.
fn detail(text: &str) -> Option<String> {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        // A character is at most four bytes.
        line.extend(word.chars().take(MAX_DETAIL_CHARS + 1));
        if line.len() > MAX_DETAIL_CHARS * 4 {
            break;
        }
    }
    if let Some((cut, _)) = line.char_indices().nth(MAX_DETAIL_CHARS - 1)
        && line.chars().nth(MAX_DETAIL_CHARS).is_some()
    {
        line.truncate(cut);
        line.push('…');
    }
    (!line.is_empty()).then_some(line)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ended_run_is_the_outcome() {
        let run = RunId::parse("r-1").unwrap();
        let firing = ran("nightly", 7, &run, RunStatus::Failed, Some("no\nhost"));
        assert_eq!(
            (firing.outcome, firing.run_id.as_deref()),
            (Outcome::Failed, Some("r-1"))
        );
        assert_eq!(firing.detail.as_deref(), Some("no host"));
        let firing = without_run("nightly", 7, "denied");
        assert_eq!(
            (firing.outcome, firing.detail.as_deref()),
            (Outcome::NoRun, Some("denied"))
        );
    }

    #[test]
    fn thread_is_named_after_schedule_and_time() {
        assert_eq!(
            thread("nightly", 1_700_000_000_000),
            "nightly-1700000000000"
        );
    }

    #[test]
    fn long_detail_is_cut() {
        assert_eq!(detail(&"é".repeat(300)), Some("é".repeat(300)));
        assert_eq!(detail(&"é".repeat(301)), Some("é".repeat(299) + "…"));
        assert_eq!(detail(&"ab ".repeat(5000)), Some("ab ".repeat(99) + "ab…"));
    }

    proptest! {
        #[test]
        fn detail_is_the_collapsed_text_prefix(text in r"([a-zé\u{1F600}]{0,40}[ \t\n\u{a0}]{0,3}){0,30}") {
            let collapsed = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let expected = match collapsed.chars().count() {
                0 => None,
                1..=300 => Some(collapsed),
                _ => Some(collapsed.chars().take(299).chain(['…']).collect()),
            };
            prop_assert_eq!(detail(&text), expected);
        }
    }
}
