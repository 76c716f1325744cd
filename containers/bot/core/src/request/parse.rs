//! Stage 1, parse: the thread's history, the directives, and the request's choices.

use ars_agent::Role;
use ars_bot_ports::{Choices, HistoryTurn, IncomingMessage, Overload, Refusal};

use super::{
    directives::{self, ParsedDirectives},
    incoming::Request,
    stages::{Stage, Stages},
};
use crate::{attachments::content_bytes, context::RunContext, limits::FilePermit};

/// Maximum earlier turns for the model and in `context` events.
const MAX_CONTEXT_TURNS: usize = 20;
/// Maximum size of these turns in bytes.
const MAX_CONTEXT_BYTES: usize = 256 << 10;

/// A request with parsed text.
pub(crate) struct ParsedRequest {
    /// The thread's earlier turns, oldest first.
    pub(crate) history: Vec<HistoryTurn>,
    /// The text without directives.
    pub(crate) directives: ParsedDirectives,
    /// The agent that the request itself names.
    pub(crate) named_agent: Option<String>,
    /// The request itself chooses a repository, beside its prose.
    pub(crate) chooses_repository: bool,
    /// The request's choices, completed by the thread's.
    pub(crate) choices: Choices,
    /// The stages so far.
    pub(crate) stages: Stages,
    /// Room for the files. `None` for a request that another process accepted.
    pub(crate) file_permit: Option<FilePermit>,
}

impl ParsedRequest {
    /// Reserves room for the files of the message and of the turns that the model sees.
    pub(crate) fn reserve_files(
        &mut self,
        context: &RunContext,
        message: &IncomingMessage,
    ) -> Result<(), Overload> {
        let earlier = recent(&self.history).iter().map(|turn| &turn.attachments);
        let bytes = earlier
            .chain([&message.attachments])
            .map(|files| content_bytes(files))
            .sum();
        self.file_permit = Some(context.file_memory().reserve(bytes)?);
        Ok(())
    }
}

/// Fetches the history and parses the text.
/// Choices made outside the text override directives, and both override the thread's earlier choices.
pub(crate) async fn parse(
    context: &RunContext,
    request: &Request,
) -> Result<ParsedRequest, Refusal> {
    let started_at = context.clock().now();
    let history = request.io.history().await;
    let ended_at = context.clock().now();
    let mut stages = Stages::default();
    stages.push(Stage {
        name: "dispatch.history",
        started_at,
        ended_at,
    });

    let directives = directives::parse(&request.message.text).map_err(Refusal::InvalidDirective)?;
    if directives.text.trim().is_empty() && request.message.attachments.is_empty() {
        return Err(Refusal::EmptyRequest);
    }
    let earlier = directives::sticky(user_texts(&history));
    let own = merge(request.message.choices.clone(), directives.choices.clone());
    let named_agent = own.agent.clone();
    let chooses_repository = own.repository.is_some();
    let choices = merge(own, earlier);
    Ok(ParsedRequest {
        history,
        directives,
        named_agent,
        chooses_repository,
        choices,
        stages,
        file_permit: None,
    })
}

/// Completes `over` by `under`.
fn merge(over: Choices, under: Choices) -> Choices {
    Choices {
        agent: over.agent.or(under.agent),
        model: over.model.or(under.model),
        effort: over.effort.or(under.effort),
        repository: over.repository.or(under.repository),
        git_ref: over.git_ref.or(under.git_ref),
        must_continue: over.must_continue || under.must_continue,
    }
}

fn user_texts(history: &[HistoryTurn]) -> impl Iterator<Item = &str> {
    history
        .iter()
        .filter(|turn| turn.role == Role::User)
        .map(|turn| turn.text.as_str())
}

/// Returns the newest earlier turns that fit, oldest first.
pub(crate) fn recent(history: &[HistoryTurn]) -> &[HistoryTurn] {
    let mut bytes = 0;
    let fitting = history
        .iter()
        .rev()
        .take(MAX_CONTEXT_TURNS)
        .take_while(|turn| {
            bytes += turn.text.len();
            bytes <= MAX_CONTEXT_BYTES
        });
    &history[history.len() - fitting.count()..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(role: Role, text: &str) -> HistoryTurn {
        HistoryTurn {
            role,
            text: text.into(),
            attachments: Vec::new(),
        }
    }

    #[test]
    fn newest_turns_that_fit_are_kept() {
        let many: Vec<_> = (0..30).map(|n| said(Role::User, &n.to_string())).collect();
        assert_eq!(recent(&many).len(), MAX_CONTEXT_TURNS);
        assert_eq!(recent(&many)[0].text, "10");
        let big = vec![
            said(Role::User, &"x".repeat(MAX_CONTEXT_BYTES)),
            said(Role::User, "y"),
        ];
        assert_eq!(recent(&big).len(), 1);
    }
}
