//! Texts for refusals, notices and failed runs.
//!
//! A channel receives a refusal and a notice as values and may render its own form. A failed run's
//! answer is text, because it is stored with the run.

use ars_agent::money::dollars;
use ars_events::checkpoint_note;
use ars_types::{ModelRef, RefName};

use super::{
    Checkpoint, DirectiveFault, LiveRunFacts, ModelError, ModelErrorKind, Notice, Overload,
    Refusal, ThreadRefusal,
};

/// The answer when a run panicked.
pub const INTERNAL_ERROR: &str = "❌ The run failed because of an internal error.";

/// The reply for an interrupted run, on a channel that repeats replies.
pub const INTERRUPTED: &str =
    "⚠️ The run was interrupted before its answer. Send the request again.";

/// Returns a message's text with a note that its channel adds for the model.
pub fn with_note(mut text: String, note: Option<&str>) -> String {
    if let Some(note) = note {
        text.push_str("\n\n");
        text.push_str(note);
    }
    text
}

/// Returns a refusal's text.
pub fn refusal(refusal: &Refusal) -> String {
    match refusal {
        Refusal::ShuttingDown => {
            "⏳ The service is being restarted and did not start this request. Send it again in a moment."
                .to_owned()
        }
        Refusal::EmptyRequest => {
            "⚠️ The message has directives but no request. Add the request and send it again.".to_owned()
        }
        Refusal::InvalidDirective(fault) => format!("⚠️ Sorry, {}", directive_fault(fault)),
        Refusal::UnknownAgent { known } => {
            format!("⛔ Sorry, there is no such agent. The agents are: {known}.")
        }
        Refusal::AgentForbidden { agent } => format!("⛔ Sorry, you may not run the {agent} agent here."),
        Refusal::NoModel => {
            "⛔ Sorry, no model is configured. Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or name a \
                             model in the configuration."
                .to_owned()
        }
        Refusal::UnknownProvider(error) => format!("⚠️ {error}"),
        Refusal::Repository { is_named, known } => repository(*is_named, known),
        Refusal::RepositoryUndetermined { repository } => format!(
            "⏳ Not run: `{repository}` may be a repository that is kept warm here, and its resident does not answer. Ask \
             again in a moment, or name a repository by its address or with `repo:<name>`. If it is a path, put it into \
             backticks."
        ),
        Refusal::RepositoryForbidden => "⛔ Sorry, you may not use that repository here.".to_owned(),
        Refusal::WorkspaceNotReady(error) => format!("❌ The workspace could not be made ready: {error}"),
        Refusal::SpendUnknown => {
            "💸 The cost of today's runs is not available, so no run can start. Ask again in a moment."
                .to_owned()
        }
        Refusal::BudgetSpent { cap } => {
            format!("💸 Today's budget of {} is used up. Ask again tomorrow (UTC).", dollars(*cap))
        }
        Refusal::BudgetReserved { cap } => format!(
            "💸 The rest of today's budget of {} is reserved for running requests. Ask again when they have ended.",
            dollars(*cap)
        ),
        Refusal::NotRecordable => {
            "⚠️ The request was not run, because its run cannot be recorded: a name in it is too long."
                .to_owned()
        }
        Refusal::NotStarted => "❌ The run could not be started.".to_owned(),
        Refusal::ThreadOccupied(thread) => occupied(thread),
        Refusal::Overloaded(limit) => format!("⏳ Not run: {}.", overload(*limit)),
    }
}

/// Returns the exceeded limit and when to try again, for error bodies.
pub fn overload(overload: Overload) -> String {
    format!(
        "the limit of {} is reached; try again in {} s",
        limit_words(overload),
        overload.wait_s()
    )
}

fn limit_words(overload: Overload) -> String {
    match overload {
        Overload::Rate { limit, .. } => format!("{limit} requests a minute"),
        Overload::OwnRuns { limit } => format!("{limit} live runs of one caller"),
        Overload::Runs { limit } => format!("{limit} live runs of all callers"),
        Overload::OwnQueue { limit } => format!("{limit} waiting runs of one caller"),
        Overload::Queue { limit } => format!("{limit} waiting runs of all callers"),
        Overload::FollowUps { limit } => format!("{limit} unread follow-ups of a run"),
        Overload::FollowUpBytes { limit } => format!("{limit} bytes of unread follow-ups of a run"),
        Overload::Files { limit } => {
            format!("{limit} bytes of files in the requests of all callers")
        }
    }
}

/// Returns a waiting run's place: the position, and the limit that leaves no slot free.
pub fn queue_place(position: u32, limit: Option<Overload>) -> String {
    match limit {
        Some(limit) => format!(
            "position {position}, limit of {} reached",
            limit_words(limit)
        ),
        None => format!("position {position}"),
    }
}

/// Returns a waiting run's status line and event text.
pub fn queued(position: u32, limit: Option<Overload>) -> String {
    format!("waiting for a free slot, {}", queue_place(position, limit))
}

/// Returns the note, for people and the model, that a thread continues in a new clone at a commit.
pub fn tree_removed(commit: Option<&str>) -> String {
    let at = commit.map_or_else(String::new, |commit| format!(" at {commit}"));
    format!(
        "The former working tree of this thread had no unsaved work and was removed to free the disk. The repository \
         was cloned again{at}: local branches and ignored files, such as installed packages, are gone."
    )
}

/// Returns the event text about a working tree checkpoint.
pub fn tree_saved(saved: &Checkpoint) -> String {
    let mut text = checkpoint_note(&saved.git_ref, &saved.commit);
    if !saved.withheld.is_empty() {
        text.push_str(&format!(
            ", without secrets and other parts of: {}",
            saved.withheld.join(", ")
        ));
    }
    text
}

/// Returns the note, for people and the model, that a run continues in a checkpoint's tree.
pub fn tree_restored(name: &str) -> String {
    format!(
        "The working tree was gone and was made again from the checkpoint `{name}`. Changes after that checkpoint and \
         ignored files, such as installed packages, are lost: check the tree before you rely on it."
    )
}

/// Returns the event text for a follow-up with a removed ingress token.
pub fn follow_up_without_token(text: &str) -> String {
    format!("not read, because its token is no longer configured: {text}")
}

/// Returns the event text for a run that waited.
pub fn left_queue(seconds: i64) -> String {
    format!("started after waiting {seconds} s for a free slot")
}

/// The answer when a run was stopped while it waited for a slot.
pub const STOPPED_IN_QUEUE: &str =
    "⏹️ The run was stopped while it waited for a free slot. Nothing was run.";

/// Returns the text for a caller after another process has taken over the run.
pub fn run_continues_elsewhere(page: &str) -> String {
    format!("⏳ The run continues in another process. See its page for the answer: {page}")
}

/// Returns the answer after a failed model call: the kind in plain words, then the provider's message.
pub fn model_failure(model: &ModelRef, error: &ModelError) -> String {
    let failure = match &error.kind {
        ModelErrorKind::Overloaded { .. } => "is overloaded and did not recover in time",
        ModelErrorKind::RateLimited { .. } => "refused further requests for now (rate limit)",
        ModelErrorKind::Unauthorized => "refused the configured credentials",
        ModelErrorKind::Invalid => "refused the request",
        ModelErrorKind::FileRejected => "refused an image or a document of the conversation",
        ModelErrorKind::ContextTooLong => "cannot hold this conversation: it is too long",
        ModelErrorKind::Unreachable => "could not be reached",
        ModelErrorKind::Failed => "failed to answer",
        ModelErrorKind::Protocol => "broke off its answer",
        ModelErrorKind::Cancelled => "was cancelled",
    };
    format!("❌ The model {model} {failure}. {}", error.message)
}

/// Returns the text in place of the answer when a run ended without it.
pub fn run_without_answer(page: &str) -> String {
    format!("⚠️ The run ended without an answer. See its page: {page}")
}

/// Returns an invalid directive's text, which begins in lower case.
pub fn directive_fault(fault: &DirectiveFault) -> String {
    match fault {
        DirectiveFault::Agent { known } => {
            format!("there is no such agent. The agents are: {known}.")
        }
        DirectiveFault::Effort { known } => {
            format!("there is no such effort. The efforts are: {known}.")
        }
        DirectiveFault::TooLong { key, max } => {
            format!("`{key}` may have at most {max} characters.")
        }
        DirectiveFault::Ref => format!(
            "the name behind `ref` must {}. Name a branch, a tag or a commit, or write code between backticks.",
            RefName::RULE
        ),
    }
}

fn occupied(refusal: &ThreadRefusal) -> String {
    match refusal {
        ThreadRefusal::AgentForbidden { agent } => {
            format!("⛔ Sorry, you may not run the {agent} agent, which is working in this thread.")
        }
        ThreadRefusal::RepositoryForbidden { agent } => format!(
            "⛔ Sorry, you may not use that repository here. The {agent} agent is working on it in this thread."
        ),
        ThreadRefusal::OtherAgent(LiveRunFacts { agent, seconds, url }) => format!(
            "⏳ The {agent} agent has been working in this thread for {seconds} s{}. Ask another agent when it has \
             finished, or in another thread.",
            link(url.as_deref())
        ),
        ThreadRefusal::FollowUpUnconfirmed { agent } => format!(
            "⏳ The {agent} agent works in this thread in another process, and may not have received this message. Send \
             it again in a moment."
        ),
        ThreadRefusal::RunEnding { agent } => format!(
            "⏳ The {agent} agent is finishing its work in this thread and did not read this. Send it again in a \
             moment."
        ),
        ThreadRefusal::OwnerUnknown => {
            "⏳ Another process works in this thread, and its run is not known at the moment. Ask again in a moment, or \
             in another thread."
                .to_owned()
        }
        ThreadRefusal::Busy => "⏳ This thread is busy in another process. Ask again in a moment.".to_owned(),
    }
}

fn repository(is_named: bool, known: &[String]) -> String {
    let lead = if is_named {
        "that repository is not known here."
    } else {
        "which repository?"
    };
    match known {
        [] => format!("⛔ Sorry, {lead} No repository is configured."),
        known => format!(
            "⛔ Sorry, {lead} Name one with `repo:<name>`. Known here: {}.",
            known.join(", ")
        ),
    }
}

/// Returns a notice's text.
pub fn notice(notice: &Notice) -> String {
    match notice {
        Notice::Steered(LiveRunFacts {
            agent,
            seconds,
            url,
        }) => {
            format!(
                "↪️ Passed on to the {agent} agent, {seconds} s into its work{}",
                link(url.as_deref())
            )
        }
        Notice::FollowUpRejected {
            refusal: reason,
            text,
        } => quoting(
            &format!("{}\n\nThis message was not run:", refusal(reason)),
            text,
        ),
        Notice::Stopped => "⏹️ The run was stopped before it read this; it was not run.".to_owned(),
        Notice::StoppedUnread { text } => quoting(
            "⏹️ The run was stopped before it read this message; it was not run:",
            text,
        ),
        Notice::TooLate { text } => quoting(
            "⏳ This message came too late for the run, and was not run. Send it again:",
            text,
        ),
        Notice::TokenRemoved { text } => quoting(
            "⛔ The token that sent this message is no longer configured. It was not run:",
            text,
        ),
        Notice::FilesLost { names } => format!(
            "⚠️ The service was restarted and could not read these files again: {}. Send them again if they are needed.",
            names.join(", ")
        ),
        Notice::NotRequeued { text } => quoting(
            "⏳ The run continues in another process and did not receive this message. Send it again:",
            text,
        ),
    }
}

fn link(url: Option<&str>) -> String {
    url.map_or_else(String::new, |url| format!(": {url}"))
}

fn quoting(lead: &str, text: &str) -> String {
    format!("{lead}\n\n> {}", text.replace('\n', "\n> "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejected_follow_up_is_quoted() {
        let rejected = Notice::FollowUpRejected {
            refusal: Refusal::NotStarted,
            text: "a\nb".into(),
        };
        assert_eq!(
            notice(&rejected),
            "❌ The run could not be started.\n\nThis message was not run:\n\n> a\n> b"
        );
    }

    #[test]
    fn unknown_repository_lists_the_known_ones() {
        let known = vec!["acme/app".to_owned(), "acme/site".to_owned()];
        assert_eq!(
            refusal(&Refusal::Repository {
                is_named: true,
                known
            }),
            "⛔ Sorry, that repository is not known here. Name one with `repo:<name>`. Known here: acme/app, \
             acme/site."
        );
        let unnamed = Refusal::Repository {
            is_named: false,
            known: Vec::new(),
        };
        assert_eq!(
            refusal(&unnamed),
            "⛔ Sorry, which repository? No repository is configured."
        );
    }

    #[test]
    fn link_follows_the_seconds() {
        let facts = LiveRunFacts {
            agent: "coding".into(),
            seconds: 3,
            url: Some("/runs/r1".into()),
        };
        assert_eq!(
            notice(&Notice::Steered(facts.clone())),
            "↪️ Passed on to the coding agent, 3 s into its work: /runs/r1"
        );
        assert!(
            refusal(&ThreadRefusal::OtherAgent(LiveRunFacts { url: None, ..facts }).into())
                .contains("for 3 s. Ask another")
        );
    }
}
