//! Classifies failed steps, and renders a failure's text.

use super::protocol::{Failure, Step};

/// Free space below which the disk counts as full, in KiB.
pub(crate) const DISK_FULL_MIN_KIB: u64 = 131_072;
/// Maximum length of each stream in a failure's text, in characters. The end is kept.
const STREAM_MAX_CHARS: usize = 400;
/// Exit code when SIGTERM ended a process.
const SIGTERM_EXIT: i32 = 143;
/// How a full disk is worded, in lower case.
const FULL: [&str; 3] = ["no space left on device", "enospc", "disk quota exceeded"];
/// How a session that was ended from outside is worded, in lower case.
const KILLED: [&str; 2] = ["session terminated", "terminated by sigterm"];

/// A failure's class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureClass {
    /// The disk is full.
    DiskFull,
    /// The process or the container was ended from outside.
    Interrupted,
    /// The code host could not be reached.
    HostUnreachable,
    /// The step itself failed.
    StepFailed,
}

/// Classifies a failed step. A step that the budget ended was never interrupted.
pub fn classify(step: Step, failure: &Failure) -> FailureClass {
    let text = format!("{}\n{}", failure.stdout, failure.stderr).to_ascii_lowercase();
    let mentions = |words: &[&str]| words.iter().any(|word| text.contains(word));
    if mentions(&FULL) {
        return FailureClass::DiskFull;
    }
    let is_killed =
        failure.exit_code == Some(SIGTERM_EXIT) || failure.runtime_replaced || mentions(&KILLED);
    if !failure.timed_out && is_killed {
        return FailureClass::Interrupted;
    }
    if failure
        .free_kib
        .is_some_and(|free| free < DISK_FULL_MIN_KIB)
    {
        return FailureClass::DiskFull;
    }
    if step == Step::Fetch {
        FailureClass::HostUnreachable
    } else {
        FailureClass::StepFailed
    }
}

/// Returns a failure's text: both streams with their names, each with the last characters.
pub fn failure_text(failure: &Failure) -> String {
    let head = match (failure.timed_out, failure.exit_code) {
        (true, _) => "the time limit was reached".to_owned(),
        (false, Some(code)) => format!("exit {code}"),
        (false, None) if failure.runtime_replaced => "the container was replaced".to_owned(),
        (false, None) => "no exit code".to_owned(),
    };
    let streams = [("stderr", &failure.stderr), ("stdout", &failure.stdout)];
    streams
        .iter()
        .filter(|(_, text)| !text.trim().is_empty())
        .fold(head, |all, (name, text)| {
            let text = text.trim();
            let skipped = text.chars().count().saturating_sub(STREAM_MAX_CHARS);
            let tail: String = text.chars().skip(skipped).collect();
            format!("{all}; {name}: {tail}")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(exit_code: i32, stderr: &str) -> Failure {
        Failure {
            exit_code: Some(exit_code),
            stderr: stderr.to_owned(),
            ..Failure::default()
        }
    }

    #[test]
    fn full_disk_is_not_an_unreachable_host() {
        let full = failure(128, "fatal: write error: No space left on device");
        assert_eq!(classify(Step::Fetch, &full), FailureClass::DiskFull);
        let silent = Failure {
            free_kib: Some(DISK_FULL_MIN_KIB - 1),
            ..failure(4, "")
        };
        assert_eq!(classify(Step::Fetch, &silent), FailureClass::DiskFull);
        let roomy = Failure {
            free_kib: Some(DISK_FULL_MIN_KIB),
            ..failure(4, "")
        };
        assert_eq!(classify(Step::Fetch, &roomy), FailureClass::HostUnreachable);
        assert_eq!(classify(Step::Build, &roomy), FailureClass::StepFailed);
    }

    #[test]
    fn killed_step_is_interrupted_unless_it_timed_out() {
        for killed in [
            failure(143, ""),
            failure(1, "Session terminated, killing shell..."),
            Failure {
                runtime_replaced: true,
                ..Failure::default()
            },
        ] {
            assert_eq!(classify(Step::Build, &killed), FailureClass::Interrupted);
            let own = Failure {
                timed_out: true,
                ..killed
            };
            assert_eq!(classify(Step::Build, &own), FailureClass::StepFailed);
        }
    }

    #[test]
    fn failure_text_has_the_ends_of_both_streams() {
        let failure = Failure {
            stdout: format!("{}real error", "x".repeat(900)),
            ..failure(1, "warning")
        };
        let text = failure_text(&failure);
        assert!(
            text.starts_with("exit 1; stderr: warning; stdout: x") && text.ends_with("real error"),
            "{text}"
        );
        assert!(text.len() < 500);
    }
}
