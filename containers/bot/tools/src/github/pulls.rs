//! Pull requests, their diffs and their checks.

use ars_bot_ports::code_host::{
    ChangedFile, CheckConclusion, CheckEntry, PullRequestFacts, ReviewThread,
};
use ars_codehost::review::PullRequestState;
use ars_types::RepoSlug;

use super::{
    access::{CodeHostAccess, RepositoryCall, within},
    issues::discussion,
    kind::GitHubTool,
    shown::{line, untrusted},
};
use crate::{ToolContext, ToolOutput};

/// Maximum failed check logs per answer.
const MAX_LOGS: usize = 3;
/// Maximum characters of a check summary.
const MAX_CHECK_SUMMARY_CHARS: usize = 2_000;

/// Runs a pull request tool.
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
    let number = args.number()?;
    match tool {
        GitHubTool::Pull => {
            let facts = within(context, access.host.pull_request(&repository, number)).await?;
            let comments = within(context, access.host.comments(&repository, number)).await?;
            let text = format!("{}{}", described(&facts), discussion(&comments));
            Ok(untrusted(context, &head_of(&facts), text, offset))
        }
        GitHubTool::PullComments => {
            let listed =
                within(context, access.host.review_discussion(&repository, number)).await?;
            let open = listed
                .entries
                .iter()
                .filter(|thread| !thread.is_resolved)
                .count();
            let more = if listed.truncated {
                " There are earlier ones, which are not shown."
            } else {
                ""
            };
            let head = format!(
                "{} threads on lines, {open} of them open.{more}",
                listed.entries.len()
            );
            let text: String = listed.entries.iter().map(thread).collect();
            Ok(untrusted(context, &head, text, offset))
        }
        GitHubTool::PullDiff => {
            let path = args.optional_text("path")?;
            let changed = within(context, access.host.changed_files(&repository, number)).await?;
            let chosen = changed
                .files
                .iter()
                .filter(|file| path.is_none_or(|path| file.path == path));
            let text: String = chosen.map(patch).collect();
            if text.is_empty() {
                return Ok(ToolOutput::refused(
                    "The pull request changes no such file.",
                ));
            }
            let more = if changed.truncated {
                " The host lists no more."
            } else {
                ""
            };
            let head = format!("{} changed files.{more}", changed.files.len());
            Ok(untrusted(context, &head, text, offset))
        }
        _ => checks(context, access, &repository, number).await,
    }
}

fn head_of(facts: &PullRequestFacts) -> String {
    let state = match facts.pull_request.state {
        PullRequestState::Open if facts.is_draft => "open draft",
        PullRequestState::Open => "open",
        PullRequestState::Closed => "closed",
        PullRequestState::Merged => "merged",
    };
    let PullRequestFacts {
        changed_files,
        additions,
        deletions,
        url,
        ..
    } = facts;
    format!("{url}: {state}, {changed_files} files, +{additions} -{deletions}.")
}

fn described(facts: &PullRequestFacts) -> String {
    let of = &facts.pull_request;
    let head = of
        .head
        .as_ref()
        .map_or_else(|| "unknown".to_owned(), ToString::to_string);
    format!(
        "title: {}\nauthor: {}\nhead: {} at {head}\nbase: {}\n\n{}\n",
        line(&of.title),
        line(&facts.author),
        line(&of.head_branch),
        line(&of.base_branch),
        of.description
    )
}

/// Renders a line comment thread.
fn thread(of: &ReviewThread) -> String {
    let state = if of.is_resolved { "resolved" } else { "open" };
    let at = match of.line {
        Some(line) => format!(":{line}"),
        None => " (its line is no longer part of the diff)".to_owned(),
    };
    let mut text = format!(
        "=== {}{at}, {state}, begun by {}\n{}\n",
        line(&of.path),
        line(&of.author),
        of.body
    );
    if of.earlier_replies > 0 {
        text.push_str(&format!(
            "({} earlier replies are not shown)\n",
            of.earlier_replies
        ));
    }
    for reply in &of.replies {
        text.push_str(&format!(
            "--- reply by {}\n{}\n",
            line(&reply.author),
            reply.body
        ));
    }
    text
}

fn patch(file: &ChangedFile) -> String {
    let ChangedFile {
        path,
        status,
        additions,
        deletions,
        previous_path,
        ..
    } = file;
    let from = previous_path
        .as_ref()
        .map_or_else(String::new, |old| format!(" from {}", line(old)));
    let lines = file
        .patch
        .as_deref()
        .unwrap_or("(no lines shown: binary or too large)");
    format!(
        "=== {} ({}{from}, +{additions} -{deletions})\n{lines}\n",
        line(path),
        line(status)
    )
}

/// Shows the head's checks, with the ends of failed logs.
async fn checks(
    context: &ToolContext<'_>,
    access: CodeHostAccess<'_>,
    repository: &RepoSlug,
    number: u64,
) -> Result<ToolOutput, ToolOutput> {
    let facts = within(context, access.host.pull_request(repository, number)).await?;
    let Some(head) = facts.pull_request.head else {
        return Ok(ToolOutput::refused(
            "The head of the pull request is not known.",
        ));
    };
    let listed = within(context, access.host.checks(repository, &head)).await?;
    let mut text: String = listed.entries.iter().map(entry).collect();
    let failed = listed
        .entries
        .iter()
        .filter(|check| check.conclusion == Some(CheckConclusion::Failure));
    for check in failed.take(MAX_LOGS) {
        // A check by a program other than the host's own has no log there, or a log that may not be
        // read.
        if let Ok(Some(log)) = within(context, access.host.log_tail(repository, check.id)).await {
            text.push_str(&format!(
                "\n=== end of the log of {}\n{}\n",
                line(&check.name),
                log.text
            ));
        }
    }
    let more = if listed.truncated { " or more" } else { "" };
    let shown = format!("{}{more} checks at {head}.", listed.entries.len());
    Ok(untrusted(context, &shown, text, 0))
}

fn entry(check: &CheckEntry) -> String {
    let result = match check.conclusion {
        None => "in progress",
        Some(CheckConclusion::Success) => "passed",
        Some(CheckConclusion::Failure) => "failed",
        Some(CheckConclusion::Other) => "neither passed nor failed",
    };
    let summary = ars_events::cap(check.summary.trim(), MAX_CHECK_SUMMARY_CHARS);
    format!("{}: {result}\n{summary}\n", line(&check.name))
}
