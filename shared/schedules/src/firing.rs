//! The outcome of a firing, derived from the ingress's response.
//!
//! Not here: the request to the ingress, and the store of firings.

use serde::Deserialize;

use ars_types::{RunId, RunStatus, UnixMillis};
use ars_wire::{
    ingress::{ErrorBody, Receipt},
    schedules::{Firing, Outcome},
};

/// Most characters of a detail, including its ellipsis.
pub const MAX_DETAIL_CHARS: usize = 300;

/// Returns the thread of a firing, which it shares with no other.
pub fn thread(schedule: &str, fired_at: UnixMillis) -> String {
    format!("{schedule}-{fired_at}")
}

/// Converts a response of the ingress.
pub fn answered(schedule: &str, fired_at: UnixMillis, status: u16, body: &str) -> Firing {
    if !(200..300).contains(&status) {
        let said = serde_json::from_str::<ErrorBody>(body).map(|body| body.error);
        let said = said.as_deref().unwrap_or(body);
        let detail = detail(&format!("HTTP {status} {said}"));
        return Firing { detail, ..of(schedule, fired_at, Outcome::IngressError) };
    }
    match serde_json::from_str(body) {
        Ok(Answer { run: Some(run) }) => match outcome(run.status) {
            Some(outcome) => Firing { run_id: Some(run.id.to_string()), ..of(schedule, fired_at, outcome) },
            None => of(schedule, fired_at, Outcome::NoRun),
        },
        Ok(Answer { run: None }) | Err(_) => of(schedule, fired_at, Outcome::NoRun),
    }
}

/// Returns the firing at the end of its run. The detail has the reason if it did not complete.
pub fn ran(
    schedule: &str,
    fired_at: UnixMillis,
    run: &RunId,
    status: RunStatus,
    reason: Option<&str>,
) -> Firing {
    let detail = reason.and_then(detail);
    match outcome(status) {
        Some(outcome) => Firing { run_id: Some(run.to_string()), detail, ..of(schedule, fired_at, outcome) },
        None => Firing { detail, ..of(schedule, fired_at, Outcome::NoRun) },
    }
}

/// Returns the firing of a message that was answered without a run.
pub fn without_run(schedule: &str, fired_at: UnixMillis, reason: &str) -> Firing {
    Firing { detail: detail(reason), ..of(schedule, fired_at, Outcome::NoRun) }
}

/// Returns the firing of a failed request to the ingress.
pub fn unanswered(schedule: &str, fired_at: UnixMillis, reason: &str) -> Firing {
    Firing { detail: detail(reason), ..of(schedule, fired_at, Outcome::IngressError) }
}

/// Returns the firing of a schedule without a token, for which no request was sent.
pub fn misconfigured(schedule: &str, fired_at: UnixMillis, reason: &str) -> Firing {
    Firing { detail: detail(reason), ..of(schedule, fired_at, Outcome::Misconfigured) }
}

/// The relevant part of a response.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    run: Option<Receipt>,
}

fn of(schedule: &str, fired_at: UnixMillis, outcome: Outcome) -> Firing {
    Firing { schedule: schedule.to_owned(), fired_at, run_id: None, outcome, detail: None }
}

/// Converts a run's status. The running process writes the receipt, so `interrupted` cannot occur.
const fn outcome(status: RunStatus) -> Option<Outcome> {
    match status {
        RunStatus::Completed => Some(Outcome::Completed),
        RunStatus::Failed => Some(Outcome::Failed),
        RunStatus::StoppedSoft => Some(Outcome::StoppedSoft),
        RunStatus::StoppedHard => Some(Outcome::StoppedHard),
        RunStatus::Interrupted => None,
    }
}

/// Returns one line of at most [`MAX_DETAIL_CHARS`]; `None` for blank text.
/// Reads a long text only as far as needed.
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

    fn came_to(status: u16, body: &str) -> (Outcome, Option<String>, Option<String>) {
        let firing = answered("nightly", 7, status, body);
        assert_eq!((firing.schedule.as_str(), firing.fired_at), ("nightly", 7));
        (firing.outcome, firing.run_id, firing.detail)
    }

    #[test]
    fn receipt_gives_outcome_and_run() {
        for (status, outcome) in [
            ("completed", Outcome::Completed),
            ("failed", Outcome::Failed),
            ("stopped_soft", Outcome::StoppedSoft),
            ("stopped_hard", Outcome::StoppedHard),
        ] {
            let body = format!(r#"{{"reply":"done","run":{{"id":"r-1","status":"{status}"}}}}"#);
            for http in [200, 202, 299] {
                assert_eq!(came_to(http, &body), (outcome, Some("r-1".to_owned()), None), "{http} {status}");
            }
        }
    }

    #[test]
    fn success_without_a_receipt_is_no_run() {
        for body in [
            "",
            "fine",
            "null",
            "[]",
            r#"{"reply":"no"}"#,
            r#"{"reply":"no","run":null}"#,
            r#"{"run":{"id":"r-1"}}"#,
            r#"{"run":{"id":"","status":"completed"}}"#,
            r#"{"run":{"id":"r-1","status":"interrupted"}}"#,
            r#"{"run":{"id":"r-1","status":"later"}}"#,
            r#"{"runId":"r-1","runUrl":"/runs/r-1","threadKey":"t"}"#,
        ] {
            assert_eq!(came_to(200, body), (Outcome::NoRun, None, None), "{body}");
        }
    }

    #[test]
    fn rejection_is_one_line() {
        for (status, body, told) in [
            (401, r#"{"error":"unauthorized"}"#, "HTTP 401 unauthorized"),
            (400, r#"{"error":"text\n  is  missing ","code":"bad_request"}"#, "HTTP 400 text is missing"),
            (502, "<h1>Bad\tgateway</h1>\n", "HTTP 502 <h1>Bad gateway</h1>"),
            (500, r#"{"error":5}"#, r#"HTTP 500 {"error":5}"#),
            (503, "", "HTTP 503"),
            (304, "", "HTTP 304"),
            (
                199,
                r#"{"run":{"id":"r","status":"completed"}}"#,
                r#"HTTP 199 {"run":{"id":"r","status":"completed"}}"#,
            ),
        ] {
            assert_eq!(came_to(status, body), (Outcome::IngressError, None, Some(told.to_owned())));
        }
    }

    #[test]
    fn unsent_firing_has_its_reason() {
        let firing = misconfigured("nightly", 7, "no token for\tcron");
        assert_eq!(
            (firing.outcome, firing.detail.as_deref()),
            (Outcome::Misconfigured, Some("no token for cron"))
        );
        let firing = unanswered("nightly", 7, " ");
        assert_eq!((firing.outcome, firing.detail), (Outcome::IngressError, None));
    }

    #[test]
    fn ended_run_is_the_outcome() {
        let run = RunId::parse("r-1").unwrap();
        let firing = ran("nightly", 7, &run, RunStatus::Failed, Some("no\nhost"));
        assert_eq!((firing.outcome, firing.run_id.as_deref()), (Outcome::Failed, Some("r-1")));
        assert_eq!(firing.detail.as_deref(), Some("no host"));
        let firing = without_run("nightly", 7, "denied");
        assert_eq!((firing.outcome, firing.detail.as_deref()), (Outcome::NoRun, Some("denied")));
    }

    #[test]
    fn thread_is_named_after_schedule_and_time() {
        assert_eq!(thread("nightly", 1_700_000_000_000), "nightly-1700000000000");
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
