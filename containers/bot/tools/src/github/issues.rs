//! Issues and their comments.

use ars_bot_ports::code_host::{Comment, Issue, IssueFilter, IssueState, Listed};

use super::{
    access::{RepositoryCall, within},
    kind::GitHubTool,
    repositories::words,
    shown::{line, untrusted},
};
use crate::{ToolContext, ToolOutput, args::Args};

/// Maximum comments per answer; the last are shown.
const MAX_SHOWN_COMMENTS: usize = 30;

/// Runs an issue tool.
pub(super) async fn run(
    context: &ToolContext<'_>,
    call: RepositoryCall<'_>,
) -> Result<ToolOutput, ToolOutput> {
    let RepositoryCall {
        tool,
        args,
        access,
        repository,
        offset,
    } = call;
    if tool == GitHubTool::IssueGet {
        let number = args.number()?;
        let issue = within(context, access.host.issue(&repository, number)).await?;
        let comments = within(context, access.host.comments(&repository, number)).await?;
        let head = format!("{}: {}.", issue.url, word(issue.state));
        let text = format!(
            "{}\n{}\n{}",
            entry(&issue),
            issue.body,
            discussion(&comments)
        );
        return Ok(untrusted(context, &head, text, offset));
    }
    let listed = if args.optional_text("query")?.is_some() {
        within(
            context,
            access.host.search_issues(&repository, words(&args)?),
        )
        .await?
    } else {
        let filter = IssueFilter {
            state: state(&args)?,
            labels: args.texts("labels")?.unwrap_or_default(),
        };
        within(context, access.host.issues(&repository, &filter)).await?
    };
    let head = format!(
        "{} issues{}.",
        listed.entries.len(),
        if listed.truncated { " or more" } else { "" }
    );
    let text: String = listed
        .entries
        .iter()
        .map(|issue| format!("{}\n", entry(issue)))
        .collect();
    Ok(untrusted(context, &head, text, offset))
}

/// Reads the state from the input.
pub(super) fn state(args: &Args<'_>) -> Result<Option<IssueState>, ToolOutput> {
    match args.optional_text("state")? {
        None => Ok(None),
        Some("open") => Ok(Some(IssueState::Open)),
        Some("closed") => Ok(Some(IssueState::Closed)),
        Some(_) => Err(ToolOutput::refused("`state` must be open or closed.")),
    }
}

fn entry(issue: &Issue) -> String {
    let kind = if issue.is_pull_request {
        "pull request"
    } else {
        "issue"
    };
    let labels = issue
        .labels
        .iter()
        .map(|label| format!(" [{}]", line(label)))
        .collect::<String>();
    format!(
        "#{} {kind}, {}, by {}: {}{labels}",
        issue.number,
        word(issue.state),
        line(&issue.author),
        line(&issue.title)
    )
}

/// Renders the last comments.
pub(super) fn discussion(comments: &Listed<Comment>) -> String {
    let shown = &comments.entries[comments.entries.len().saturating_sub(MAX_SHOWN_COMMENTS)..];
    let mut text = String::new();
    if shown.len() < comments.entries.len() || comments.truncated {
        text.push_str("\n(not all comments are shown)\n");
    }
    for comment in shown {
        text.push_str(&format!(
            "\n--- comment by {}\n{}\n",
            line(&comment.author),
            comment.body
        ));
    }
    text
}

const fn word(state: IssueState) -> &'static str {
    match state {
        IssueState::Open => "open",
        IssueState::Closed => "closed",
    }
}
