//! Stage 1, parse: the thread's history, the directives, and the choices of the request.

use ars_agent::Role;
use ars_bot_ports::{Choices, HistoryTurn, Refusal};

use super::{
    directives::{self, ParsedDirectives},
    request::{Request, Stage},
};
use crate::context::RunContext;

/// A request with parsed text.
pub(crate) struct ParsedRequest {
    /// Earlier turns of the thread, oldest first.
    pub(crate) history: Vec<HistoryTurn>,
    /// The text without its directives.
    pub(crate) directives: ParsedDirectives,
    /// The agent that the request itself names.
    pub(crate) named_agent: Option<String>,
    /// The choices of the request, completed by the thread's.
    pub(crate) choices: Choices,
    /// The stages so far.
    pub(crate) stages: Vec<Stage>,
}

/// Fetches the history and parses the text.
/// Choices made outside the text override directives, and both override the thread's earlier choices.
pub(super) async fn parse(context: &RunContext, request: &Request) -> Result<ParsedRequest, Refusal> {
    let started_at = context.clock().now();
    let history = request.io.history().await;
    let ended_at = context.clock().now();
    let stages = vec![Stage { name: "dispatch.history", started_at, ended_at }];

    let directives = directives::parse(&request.message.text).map_err(Refusal::InvalidDirective)?;
    if directives.text.trim().is_empty() {
        return Err(Refusal::EmptyRequest);
    }
    let earlier = directives::sticky(user_texts(&history));
    let own = merge(request.message.choices.clone(), directives.choices.clone());
    let named_agent = own.agent.clone();
    let choices = merge(own, earlier);
    Ok(ParsedRequest { history, directives, named_agent, choices, stages })
}

/// Completes `over` by `under`.
fn merge(over: Choices, under: Choices) -> Choices {
    Choices {
        agent: over.agent.or(under.agent),
        model: over.model.or(under.model),
        effort: over.effort.or(under.effort),
        repository: over.repository.or(under.repository),
        git_ref: over.git_ref.or(under.git_ref),
    }
}

fn user_texts(history: &[HistoryTurn]) -> impl Iterator<Item = &str> {
    history.iter().filter(|turn| turn.role == Role::User).map(|turn| turn.text.as_str())
}
