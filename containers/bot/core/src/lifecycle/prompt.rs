//! A run's system prompt.

use ars_bot_tools::agents::AgentSpec;

/// The facts about the workspace in the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceFacts {
    /// Repository name in the prompt.
    pub repository: String,
    /// The tree's commit, if known.
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
