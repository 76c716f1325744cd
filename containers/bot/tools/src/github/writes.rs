//! Issues and comments that are written in the name of the service.
//!
//! A model wrote their texts, so mentions, references and markup that would have effects are broken.

use ars_bot_ports::code_host::{Issue, IssueEdit, NewIssue};
use ars_codehost::text::{MAX_BODY_CHARS, neutral_block, neutral_line};

use super::{
    access::{RepositoryCall, within},
    issues::state,
    kind::GitHubTool,
};
use crate::{ToolContext, ToolOutput, args::Args};

/// Maximum characters of an issue's title.
const MAX_ISSUE_TITLE: usize = 200;
/// Maximum labels of an issue.
const MAX_LABELS: usize = 20;

/// Runs one of these tools.
pub(super) async fn run(
    context: &ToolContext<'_>,
    call: RepositoryCall<'_>,
) -> Result<ToolOutput, ToolOutput> {
    let RepositoryCall {
        tool,
        args,
        access,
        repository,
        ..
    } = call;
    let labels = labels(&args)?;
    let title = args
        .optional_text("title")?
        .map(|text| neutral_line(&hidden(context, text), MAX_ISSUE_TITLE));
    let body = args
        .optional_text("body")?
        .map(|text| neutral_block(&hidden(context, text), MAX_BODY_CHARS));
    for (field, text) in [("title", &title), ("body", &body)] {
        if text.as_ref().is_some_and(|text| text.trim().is_empty()) {
            return Err(ToolOutput::refused(format!("`{field}` must not be blank.")));
        }
    }
    match tool {
        GitHubTool::IssueCreate => {
            args.text("title")?;
            args.text("body")?;
            let issue = NewIssue {
                title: title.unwrap_or_default(),
                body: body.unwrap_or_default(),
                labels: labels.unwrap_or_default(),
                assignees: Vec::new(),
            };
            let made = within(context, access.host.create_issue(&repository, &issue)).await?;
            Ok(done("Created", &made))
        }
        GitHubTool::IssueUpdate => {
            let number = args.number()?;
            let edit = IssueEdit {
                title,
                body,
                state: state(&args)?,
                labels,
                assignees: None,
            };
            if edit == IssueEdit::default() {
                return Err(ToolOutput::refused(
                    "Name at least one of title, body, state and labels.",
                ));
            }
            // The host changes a pull request by the route of issues too. Only a run with the branch may do so.
            if within(context, access.host.issue(&repository, number))
                .await?
                .is_pull_request
            {
                return Err(ToolOutput::refused(format!(
                    "#{number} is a pull request, and this tool changes issues only. A comment on it is possible."
                )));
            }
            let changed =
                within(context, access.host.edit_issue(&repository, number, &edit)).await?;
            Ok(done("Changed", &changed))
        }
        _ => {
            let number = args.number()?;
            args.text("body")?;
            let body = body.unwrap_or_default();
            let made = within(context, access.host.comment(&repository, number, &body)).await?;
            Ok(ToolOutput::text(format!(
                "Commented on #{number}: {}",
                made.url
            )))
        }
    }
}

fn labels(args: &Args<'_>) -> Result<Option<Vec<String>>, ToolOutput> {
    let labels = args.texts("labels")?;
    if labels.as_ref().is_some_and(|it| it.len() > MAX_LABELS) {
        let problem = format!("`labels` must have at most {MAX_LABELS} entries.");
        return Err(ToolOutput::refused(problem));
    }
    Ok(labels)
}

/// Removes the installation's secrets, which the model may have read.
fn hidden(context: &ToolContext<'_>, text: &str) -> String {
    (context.run.hide)(text.to_owned())
}

fn done(verb: &str, issue: &Issue) -> ToolOutput {
    ToolOutput::text(format!("{verb} #{}: {}", issue.number, issue.url))
}
