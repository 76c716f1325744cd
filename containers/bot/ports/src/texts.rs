//! The texts of refusals and notices, as chat channels show them.
//!
//! Every text of the core that is not a model's is rendered here, so that a channel can render its own form instead.

use ars_agent::money::dollars;

use super::{DirectiveFault, LiveRunFacts, Notice, Refusal, ThreadRefusal};

/// Returns the text of a refusal.
pub fn refusal(refusal: &Refusal) -> String {
    match refusal {
        Refusal::ShuttingDown => {
            "⏳ The service is being restarted. Nothing of this was begun: send it again in a moment."
                .to_owned()
        }
        Refusal::EmptyRequest => {
            "⚠️ What should it do? The message says how to run, but asks for nothing.".to_owned()
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
        Refusal::RepositoryForbidden => "⛔ Sorry, you may not use that repository here.".to_owned(),
        Refusal::WorkspaceNotReady(error) => format!("❌ The workspace could not be made ready: {error}"),
        Refusal::SpendUnknown => {
            "💸 What today's runs have cost is not known at the moment, so none is begun.".to_owned()
        }
        Refusal::BudgetSpent { cap } => {
            format!("💸 Today's budget of {} is used up. Ask again tomorrow (UTC).", dollars(*cap))
        }
        Refusal::BudgetReserved { cap } => format!(
            "💸 What is left of today's budget of {} is held by runs under way. Ask again when they are over.",
            dollars(*cap)
        ),
        Refusal::NotStarted => "❌ The run could not be started.".to_owned(),
        Refusal::ThreadOccupied(thread) => occupied(thread),
    }
}

/// Returns the text for a caller after another process has taken over the run.
pub fn run_continues_elsewhere(page: &str) -> String {
    format!("⏳ The run continues in another process. See its page for the answer: {page}")
}

/// Returns the text of an invalid directive, which begins in lower case.
pub fn directive_fault(fault: &DirectiveFault) -> String {
    match fault {
        DirectiveFault::Agent { known } => format!("there is no such agent. The agents are: {known}."),
        DirectiveFault::Effort { known } => format!("there is no such effort. The efforts are: {known}."),
    }
}

fn occupied(refusal: &ThreadRefusal) -> String {
    match refusal {
        ThreadRefusal::AgentForbidden { agent } => {
            format!("⛔ Sorry, you may not run the {agent} agent, which is at work in this thread.")
        }
        ThreadRefusal::RepositoryForbidden { agent } => format!(
            "⛔ Sorry, you may not use that repository here. The {agent} agent is at work on it in this thread."
        ),
        ThreadRefusal::OtherAgent(LiveRunFacts { agent, seconds, url }) => format!(
            "⏳ The {agent} agent has been working in this thread for {seconds} s{}. Ask another agent when it has \
             finished, or in another thread.",
            link(url.as_deref())
        ),
        ThreadRefusal::FollowUpUnconfirmed { agent } => format!(
            "⏳ The {agent} agent works in this thread in another process, and whether it was told this is not known. \
             Send it again in a moment."
        ),
        ThreadRefusal::RunEnding { agent } => format!(
            "⏳ The {agent} agent is just ending its work in this thread and did not read this. Send it again in a \
             moment."
        ),
        ThreadRefusal::OwnerUnknown => {
            "⏳ Another process works in this thread, and it cannot be told what on. Ask \
                                        again in a moment, or in another thread."
                .to_owned()
        }
        ThreadRefusal::Busy => "⏳ This thread is busy in another process. Ask again in a moment.".to_owned(),
    }
}

fn repository(is_named: bool, known: &[String]) -> String {
    let lead = if is_named { "that repository is not known here." } else { "which repository?" };
    match known {
        [] => format!("⛔ Sorry, {lead} No repository is configured."),
        known => format!("⛔ Sorry, {lead} Name one with `repo:<name>`. Known here: {}.", known.join(", ")),
    }
}

/// Returns the text of a notice.
pub fn notice(notice: &Notice) -> String {
    match notice {
        Notice::Steered(LiveRunFacts { agent, seconds, url }) => {
            format!("↪️ Passed on to the {agent} agent, {seconds} s into its work{}", link(url.as_deref()))
        }
        Notice::FollowUpRejected { refusal: reason, text } => {
            quoting(&format!("{}\n\nThis message was not run:", refusal(reason)), text)
        }
        Notice::Stopped => "⏹️ The run was stopped before it read this; it was not run.".to_owned(),
        Notice::StoppedUnread { text } => {
            quoting("⏹️ The run was stopped before it read this message; it was not run:", text)
        }
        Notice::TooLate { text } => {
            quoting("⏳ This message came too late for the run, and was not run. Send it again:", text)
        }
        Notice::NotRequeued { text } => {
            quoting("⏳ The run goes on elsewhere and could not be given this message. Send it again:", text)
        }
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
        let rejected = Notice::FollowUpRejected { refusal: Refusal::NotStarted, text: "a\nb".into() };
        assert_eq!(
            notice(&rejected),
            "❌ The run could not be started.\n\nThis message was not run:\n\n> a\n> b"
        );
    }

    #[test]
    fn unknown_repository_lists_the_known_ones() {
        let known = vec!["acme/app".to_owned(), "acme/site".to_owned()];
        assert_eq!(
            refusal(&Refusal::Repository { is_named: true, known }),
            "⛔ Sorry, that repository is not known here. Name one with `repo:<name>`. Known here: acme/app, \
             acme/site."
        );
        let unnamed = Refusal::Repository { is_named: false, known: Vec::new() };
        assert_eq!(refusal(&unnamed), "⛔ Sorry, which repository? No repository is configured.");
    }

    #[test]
    fn link_follows_the_seconds() {
        let facts = LiveRunFacts { agent: "coding".into(), seconds: 3, url: Some("/runs/r1".into()) };
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
