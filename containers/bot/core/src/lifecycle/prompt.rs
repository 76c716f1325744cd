//! The system prompt and the conversation of a new run.

use ars_agent::{Role, Turn};
use ars_bot_ports::HistoryTurn;
use ars_bot_tools::agents::AgentSpec;

/// Maximum earlier turns for the model and in `context` events.
const MAX_CONTEXT_TURNS: usize = 20;
/// Maximum bytes of these turns.
const MAX_CONTEXT_BYTES: usize = 256 << 10;

/// The facts about the workspace in the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceFacts {
    /// The repository's name.
    pub repository: String,
    /// The commit of the tree.
    pub head: Option<String>,
}

/// Composes the agent's prompt, the workspace's facts, and the blocks that follow.
pub fn system(
    agent: &AgentSpec,
    workspace: Option<&WorkspaceFacts>,
    blocks: impl IntoIterator<Item = Option<String>>,
) -> String {
    let mut prompt = agent.prompt.trim_end().to_owned();
    if let Some(facts) = workspace {
        prompt.push_str("\n\nRepository: ");
        prompt.push_str(&facts.repository);
        if let Some(head) = &facts.head {
            prompt.push_str("\nCommit: ");
            prompt.push_str(head);
        }
    }
    for block in blocks.into_iter().flatten() {
        prompt.push_str("\n\n");
        prompt.push_str(&block);
    }
    prompt
}

/// Returns the newest earlier turns that fit, oldest first.
pub fn recent(history: &[HistoryTurn]) -> &[HistoryTurn] {
    let mut bytes = 0;
    let fitting = history.iter().rev().take(MAX_CONTEXT_TURNS).take_while(|turn| {
        bytes += turn.text.len();
        bytes <= MAX_CONTEXT_BYTES
    });
    &history[history.len() - fitting.count()..]
}

/// Returns the initial conversation. Providers require that it starts with the user and holds no empty text.
pub fn conversation(earlier: &[HistoryTurn], request: &str) -> Vec<Turn> {
    let spoken = earlier.iter().filter(|turn| !turn.text.trim().is_empty());
    let from_user = spoken.skip_while(|turn| turn.role == Role::Assistant);
    let mut turns: Vec<Turn> = from_user.map(|turn| Turn::text(turn.role, turn.text.clone())).collect();
    turns.push(Turn::text(Role::User, request));
    turns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(role: Role, text: &str) -> HistoryTurn {
        HistoryTurn { role, text: text.into() }
    }

    #[test]
    fn newest_turns_that_fit_are_kept() {
        let many: Vec<_> = (0..30).map(|n| said(Role::User, &n.to_string())).collect();
        assert_eq!(recent(&many).len(), MAX_CONTEXT_TURNS);
        assert_eq!(recent(&many)[0].text, "10");
        let big = vec![said(Role::User, &"x".repeat(MAX_CONTEXT_BYTES)), said(Role::User, "y")];
        assert_eq!(recent(&big).len(), 1);
    }

    #[test]
    fn conversation_starts_with_the_user() {
        let earlier = [said(Role::Assistant, "hi"), said(Role::User, "a"), said(Role::Assistant, " ")];
        let turns = conversation(&earlier, "b");
        assert_eq!(turns, [Turn::text(Role::User, "a"), Turn::text(Role::User, "b")]);
    }
}
