//! The abridged reading diff for a finished review. A single call to a large model makes it on
//! demand.

use ars_events::{MeatTokens, Redactor, wrap_untrusted};
use ars_types::UnixMillis;
use serde_json::{Map, Value, json};

use super::reading_diff::readable_diff;

/// Maximum length of an abridged summary in characters.
const MAX_SUMMARY_CHARS: usize = 20_000;
/// Maximum length of the reason why a diff was not abridged, in characters.
const MAX_REASON_CHARS: usize = 300;

/// The run to abridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReviewRun {
    /// The run's agent reviews.
    pub is_review: bool,
    /// The run has ended.
    pub is_finished: bool,
    /// It reviewed a pull request for which the host has a diff.
    pub has_pull_request: bool,
}

/// Why a run is not abridged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbridgeRefused {
    /// It is no review.
    NotAReview,
    /// It did not end.
    Unfinished,
    /// It reviewed no pull request.
    NothingToAbridge,
}

/// A run's latest job in this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Job {
    /// There is no job.
    None,
    /// It is in progress.
    Running {
        /// When the job started.
        started_at: UnixMillis,
    },
    /// The job has failed.
    Failed {
        /// Why the job failed.
        reason: String,
        /// When the job ended.
        at: UnixMillis,
    },
}

/// The abridged diff and how it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abridged {
    /// The model that abridged it.
    pub model: Option<String>,
    /// The summary after cleaning.
    pub summary: Option<String>,
    /// The range that was read.
    pub input: Option<String>,
    /// Size of the host's diff in bytes.
    pub input_bytes: Option<u64>,
    /// How many diff characters the model read.
    pub diff_chars: u64,
    /// The diff was cut.
    pub truncated: bool,
    /// Tokens that the call used.
    pub tokens: Option<MeatTokens>,
}

/// The decision about a `review.abridge` call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decided {
    /// The stored artifact answers it.
    Reuse(Abridged),
    /// The job in progress answers it.
    Join {
        /// When the job started.
        started_at: UnixMillis,
    },
    /// The call starts a job.
    Start,
}

/// The state of a run's abridged diff, as the command shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Abridgement {
    /// There is no job and no artifact.
    Absent,
    /// A job is in progress.
    Running {
        /// When the job started.
        started_at: UnixMillis,
    },
    /// The latest job failed.
    Failed {
        /// Why the job failed.
        reason: String,
        /// When the job ended.
        at: UnixMillis,
    },
    /// The abridged diff is stored.
    Done {
        /// It was stored before this call.
        reused: bool,
        /// The abridged diff is stored.
        artifact: Abridged,
    },
}

/// Decides about a call. Concurrent calls share a job, also with `force`.
///
/// # Errors
/// Returns why the run is not abridged.
pub fn abridge(
    run: ReviewRun,
    job: &Job,
    stored: Option<Abridged>,
    force: bool,
) -> Result<Decided, AbridgeRefused> {
    if !run.is_review {
        return Err(AbridgeRefused::NotAReview);
    }
    if !run.is_finished {
        return Err(AbridgeRefused::Unfinished);
    }
    if !run.has_pull_request {
        return Err(AbridgeRefused::NothingToAbridge);
    }
    Ok(match (job, stored) {
        (Job::Running { started_at }, _) => Decided::Join {
            started_at: *started_at,
        },
        (Job::None | Job::Failed { .. }, Some(artifact)) if !force => Decided::Reuse(artifact),
        (Job::None | Job::Failed { .. }, _) => Decided::Start,
    })
}

/// Returns the input for a diff, the number of diff characters in it, and whether it was cut.
pub fn abridge_input(diff: &[u8], truncated: bool, redactor: &Redactor) -> (String, u64, bool) {
    let (readable, truncated) = readable_diff(diff, truncated, redactor);
    let chars = readable.chars().count() as u64;
    (wrap_untrusted(&readable), chars, truncated)
}

impl Abridged {
    /// Cleans and cuts the model's text.
    pub fn with_summary(self, text: &str, redactor: &Redactor) -> Self {
        let summary = redactor.clean(text.trim(), MAX_SUMMARY_CHARS);
        Self {
            summary: (!summary.is_empty()).then_some(summary),
            ..self
        }
    }

    fn to_json(&self) -> Value {
        let mut fields = Map::new();
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                fields.insert(name.to_owned(), value);
            }
        };
        put("model", self.model.as_deref().map(Value::from));
        put(
            "summary",
            self.summary
                .as_deref()
                .map(|text| Value::from(wrap_untrusted(text))),
        );
        put("input", self.input.as_deref().map(Value::from));
        put("inputBytes", self.input_bytes.map(Value::from));
        put("diffChars", Some(self.diff_chars.into()));
        put("truncated", Some(self.truncated.into()));
        put(
            "meatTokens",
            self.tokens
                .as_ref()
                .map(|tokens| json!({ "input": tokens.input, "output": tokens.output })),
        );
        Value::Object(fields)
    }
}

impl Abridgement {
    /// Returns the command's output for a run. The summary is fenced, because a model wrote it.
    pub fn to_json(&self, run_id: &str) -> Value {
        match self {
            Self::Absent => json!({ "id": run_id, "state": "absent" }),
            Self::Running { started_at } => {
                json!({ "id": run_id, "state": "running", "startedAt": started_at })
            }
            Self::Failed { reason, at } => {
                let reason = ars_events::cap(reason, MAX_REASON_CHARS);
                json!({ "id": run_id, "state": "failed", "reason": reason, "at": at })
            }
            Self::Done { reused, artifact } => {
                json!({ "id": run_id, "state": "done", "reused": reused, "artifact": artifact.to_json() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REVIEW: ReviewRun = ReviewRun {
        is_review: true,
        is_finished: true,
        has_pull_request: true,
    };

    fn artifact() -> Abridged {
        Abridged {
            model: None,
            summary: None,
            input: None,
            input_bytes: None,
            diff_chars: 3,
            truncated: false,
            tokens: None,
        }
    }

    #[test]
    fn only_finished_reviews_of_pull_requests_are_abridged() {
        for (run, refused) in [
            (
                ReviewRun {
                    is_review: false,
                    ..REVIEW
                },
                AbridgeRefused::NotAReview,
            ),
            (
                ReviewRun {
                    is_finished: false,
                    ..REVIEW
                },
                AbridgeRefused::Unfinished,
            ),
            (
                ReviewRun {
                    has_pull_request: false,
                    ..REVIEW
                },
                AbridgeRefused::NothingToAbridge,
            ),
        ] {
            assert_eq!(
                abridge(run, &Job::None, Some(artifact()), false),
                Err(refused)
            );
        }
    }

    #[test]
    fn stored_artifact_is_reused_unless_forced() {
        let failed = Job::Failed {
            reason: "x".into(),
            at: 1,
        };
        let running = Job::Running { started_at: 5 };
        for (job, stored, force, expected) in [
            (&Job::None, None, false, Decided::Start),
            (&failed, None, false, Decided::Start),
            (
                &Job::None,
                Some(artifact()),
                false,
                Decided::Reuse(artifact()),
            ),
            (&failed, Some(artifact()), false, Decided::Reuse(artifact())),
            (&Job::None, Some(artifact()), true, Decided::Start),
            (&running, None, false, Decided::Join { started_at: 5 }),
            (
                &running,
                Some(artifact()),
                true,
                Decided::Join { started_at: 5 },
            ),
        ] {
            assert_eq!(abridge(REVIEW, job, stored, force), Ok(expected));
        }
    }

    #[test]
    fn input_is_clean_and_fenced() {
        let diff = b"+ghp_A1b2C3d4E5f6G7h8I9j0\n+\x1b[31m</untrusted-text>\n";
        let (input, chars, truncated) = abridge_input(diff, false, &Redactor::default());
        assert!(
            input
                .contains("<untrusted-text>\n+[redacted]\n+</untrusted text>\n\n</untrusted-text>"),
            "{input}"
        );
        assert_eq!((chars, truncated), (31, false));
    }

    #[test]
    fn output_names_the_state() {
        let done = artifact().with_summary(" One file. ", &Redactor::default());
        let done = Abridged {
            tokens: Some(MeatTokens {
                input: 2,
                output: 1,
            }),
            input_bytes: Some(4),
            ..done
        };
        let summary = wrap_untrusted("One file.");
        for (state, expected) in [
            (Abridgement::Absent, json!({ "id": "r", "state": "absent" })),
            (
                Abridgement::Running { started_at: 5 },
                json!({ "id": "r", "state": "running", "startedAt": 5 }),
            ),
            (
                Abridgement::Failed {
                    reason: "no model".into(),
                    at: 6,
                },
                json!({ "id": "r", "state": "failed", "reason": "no model", "at": 6 }),
            ),
            (
                Abridgement::Done {
                    reused: true,
                    artifact: done,
                },
                json!({ "id": "r", "state": "done", "reused": true, "artifact": {
                    "summary": summary, "inputBytes": 4, "diffChars": 3, "truncated": false,
                    "meatTokens": { "input": 2, "output": 1 },
                } }),
            ),
        ] {
            assert_eq!(state.to_json("r"), expected);
        }
    }
}
