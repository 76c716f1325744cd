//! `friction.propose`: files the costliest recurring causes of slow runs as code host issues.
//!
//! Not here: choosing the issues and writing their texts (`ars_codehost::proposals`).

use ars_auth::Denied;
use ars_bot_ports::{
    CodeHost, CodeHostError,
    code_host::{Issue, IssueFilter, IssueState, NewIssue},
};
use ars_codehost::{
    answer::Meaning,
    parse_slug,
    proposals::{IssueRef, OpenIssue, Proposal, ProposeOptions, plan},
};
use ars_commands::{Capability, Definition, Field, Kind, names};
use ars_types::RepoSlug;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    super::{call::Call, command::Command, error::CommandError, untrusted::Untrusted},
    report::{PatternView, recurring},
};
use crate::gates::authorize_name;

/// The command.
pub(in super::super) struct Propose;

/// The input.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Input {
    #[serde(default)]
    dry_run: bool,
    top: Option<usize>,
    min_runs: Option<usize>,
    repo: Option<String>,
}

/// The output.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct Proposed {
    /// Number of analyzed runs.
    runs_analyzed: u64,
    /// Patterns, costliest first.
    patterns: Vec<PatternView>,
    /// Issues to file.
    proposals: Vec<ProposalView>,
    /// Filed issues.
    filed: Vec<FiledView>,
    /// Patterns that an open issue is about.
    duplicates: Vec<FiledView>,
    /// Proposals that the host did not accept.
    failed: Vec<FailedView>,
    /// Nothing was filed.
    dry_run: bool,
    /// Number of runs with an incomplete stream.
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated_runs: Option<u64>,
}

/// A proposed issue.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ProposalView {
    /// Title, fenced.
    title: Untrusted,
    /// Body, fenced. It ends with a hidden marker of the pattern's key.
    body: Untrusted,
    /// Labels.
    labels: Vec<String>,
    /// The pattern.
    #[serde(flatten)]
    pattern: PatternView,
}

/// A proposal and its issue.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct FiledView {
    /// The proposal.
    proposal: ProposalView,
    /// The issue.
    issue: IssueView,
}

/// An issue.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct IssueView {
    /// Number.
    number: u64,
    /// Address.
    url: String,
}

/// A proposal that was not filed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct FailedView {
    /// The proposal.
    proposal: ProposalView,
    /// Reason.
    error: String,
}

impl Command for Propose {
    const DEFINITION: Definition = Definition::write(
        "friction.propose",
        "friction:write",
        "Files recurring causes of slow runs as issues.",
    )
    .with_options(&[
        Field::optional("dryRun", Kind::Boolean, "files no issue"),
        Field::optional(
            "top",
            Kind::at_least(1),
            "most issues to file; by default 3, or as configured",
        ),
        Field::optional(
            "minRuns",
            Kind::at_least(1),
            "runs that must share a pattern; by default 2, or as configured",
        ),
        Field::optional(
            "repo",
            Kind::Name(&names::REPOSITORY),
            "the repository of the issues, in place of the configured one",
        ),
    ])
    .needing(Capability::CodeHost)
    .leaving_run();
    type Input = Input;
    type Output = Proposed;

    async fn run(call: Call<'_>, input: Input) -> Result<Proposed, CommandError> {
        let host = call.context.deps().capabilities.code_host.as_deref();
        let host = host.ok_or_else(|| CommandError::unavailable("no code host is configured"))?;
        let repository = repository(&call, input.repo.as_deref())?;
        let settings = &call.context.settings().proposals;
        let defaults = ProposeOptions::default();
        let options = ProposeOptions {
            top: input.top.or(settings.top).unwrap_or(defaults.top),
            label: settings.label.clone().unwrap_or(defaults.label),
            dry_run: input.dry_run,
        };
        let report = recurring(&call, None, None, input.min_runs).await?;
        let claims = call.context.work_claims();
        // Held from listing the issues until the last is filed, so that two calls do not file a
        // pattern twice.
        let _filing = claims.filing().await;
        let (key, owner) = (
            format!("filing {repository}"),
            call.context.registry().mint(),
        );
        if !options.dry_run {
            match claims.claim(&key, &owner, call.context.clock().now()).await {
                Some(true) => {}
                Some(false) => {
                    let text = "another process files issues in this repository now. Try again in a few minutes";
                    return Err(CommandError::conflict(text));
                }
                None => {
                    return Err(CommandError::unavailable(
                        "the service's own store did not answer",
                    ));
                }
            }
        }
        let proposed = propose(host, &repository, report, &options).await;
        if !options.dry_run {
            claims.release(&key, &owner).await;
        }
        proposed
    }

    fn text(output: &Proposed) -> String {
        let mut lines = vec![format!("{} runs analyzed", output.runs_analyzed)];
        let issue = |verb: &str, entry: &FiledView| {
            format!(
                "- {verb} #{}: {} {}",
                entry.issue.number,
                entry.proposal.title.plain(),
                entry.issue.url
            )
        };
        lines.extend(output.filed.iter().map(|entry| issue("filed", entry)));
        lines.extend(
            output
                .duplicates
                .iter()
                .map(|entry| issue("already open", entry)),
        );
        let failed = output.failed.iter();
        lines.extend(failed.map(|entry| {
            format!(
                "- not filed: {}: {}",
                entry.proposal.title.plain(),
                entry.error
            )
        }));
        if output.dry_run {
            let proposals = output.proposals.iter();
            lines.extend(
                proposals.map(|proposal| format!("- would file: {}", proposal.title.plain())),
            );
        }
        if lines.len() == 1 {
            lines.push("no recurring friction".to_owned());
        }
        lines.join("\n")
    }
}

/// Files the patterns of a report that no open issue is about.
async fn propose(
    host: &dyn CodeHost,
    repository: &RepoSlug,
    report: ars_friction::Report,
    options: &ProposeOptions,
) -> Result<Proposed, CommandError> {
    let open = open_issues(host, repository, &options.label)
        .await
        .map_err(|error| tracker(&error))?;
    let planned = plan(&report.patterns, &open, options);
    let mut attempts = Vec::new();
    if !planned.dry_run {
        for proposal in &planned.to_file {
            attempts.push(file(host, repository, proposal, options).await);
        }
    }
    Ok(Proposed::from_proposed(planned.output(report, attempts)))
}

/// Returns the repository of the issues, which the caller may use.
fn repository(call: &Call<'_>, named: Option<&str>) -> Result<RepoSlug, CommandError> {
    let settings = call.context.settings();
    let repository = match named {
        Some(named) => {
            parse_slug(named).ok_or_else(|| CommandError::invalid("repo must be `owner/name`"))?
        }
        None => settings.proposals.repository.clone().ok_or_else(|| {
            CommandError::unavailable(
                "no repository is configured for issues; name one with `repo`",
            )
        })?,
    };
    authorize_name(&call.caller.actor, settings, repository.as_str())
        .map_err(|_| CommandError::denied(Denied::MissingGrant))?;
    Ok(repository)
}

/// Lists the open issues. Of a long list, those with the label are listed as well.
async fn open_issues(
    host: &dyn CodeHost,
    repository: &RepoSlug,
    label: &str,
) -> Result<Vec<OpenIssue>, CodeHostError> {
    let any = IssueFilter {
        state: Some(IssueState::Open),
        labels: Vec::new(),
    };
    let listed = host.issues(repository, &any).await?;
    let mut issues = listed.entries;
    if listed.truncated {
        let labelled = IssueFilter {
            labels: vec![label.to_owned()],
            ..any
        };
        issues.extend(host.issues(repository, &labelled).await?.entries);
    }
    let open = |issue: Issue| OpenIssue {
        number: issue.number,
        url: issue.url,
        body: issue.body,
    };
    Ok(issues.into_iter().map(open).collect())
}

/// Files one issue. After a lost answer the issue is searched, because it may exist.
async fn file(
    host: &dyn CodeHost,
    repository: &RepoSlug,
    proposal: &Proposal,
    options: &ProposeOptions,
) -> Result<IssueRef, String> {
    let issue = NewIssue {
        title: proposal.title.clone(),
        body: proposal.body.clone(),
        labels: proposal.labels.clone(),
        assignees: Vec::new(),
    };
    let error = match host.create_issue(repository, &issue).await {
        Ok(issue) => {
            return Ok(IssueRef {
                number: issue.number,
                url: issue.url,
            });
        }
        Err(error) => error,
    };
    tracing::warn!(error = %error, "issue about friction not filed");
    if error.is_effect_unknown()
        && let Ok(open) = open_issues(host, repository, &options.label).await
    {
        let found = plan(std::slice::from_ref(&proposal.pattern), &open, options)
            .duplicates
            .pop();
        return found
            .map(|found| found.issue)
            .ok_or_else(|| error.to_string());
    }
    Err(error.to_string())
}

fn tracker(error: &CodeHostError) -> CommandError {
    tracing::error!(error = %error, "open issues not listed");
    let text = format!("the open issues cannot be listed: {error}");
    match error.meaning() {
        // The caller may have named the repository.
        Some(Meaning::NotFound | Meaning::Gone | Meaning::OutsideInstallation) => {
            CommandError::not_found(text)
        }
        Some(Meaning::Moved { .. } | Meaning::Archived) => CommandError::conflict(text),
        _ => CommandError::unavailable(text),
    }
}

impl Proposed {
    fn from_proposed(proposed: ars_codehost::proposals::Proposed) -> Self {
        let filed = |entry: ars_codehost::proposals::Filed| FiledView {
            proposal: ProposalView::from_proposal(entry.proposal),
            issue: IssueView {
                number: entry.issue.number,
                url: entry.issue.url,
            },
        };
        let failed = |entry: ars_codehost::proposals::Failed| FailedView {
            proposal: ProposalView::from_proposal(entry.proposal),
            error: entry.error,
        };
        Self {
            runs_analyzed: proposed.runs_analyzed,
            patterns: proposed
                .patterns
                .into_iter()
                .map(PatternView::from_pattern)
                .collect(),
            proposals: proposed
                .proposals
                .into_iter()
                .map(ProposalView::from_proposal)
                .collect(),
            filed: proposed.filed.into_iter().map(filed).collect(),
            duplicates: proposed.duplicates.into_iter().map(filed).collect(),
            failed: proposed.failed.into_iter().map(failed).collect(),
            dry_run: proposed.dry_run,
            truncated_runs: proposed.truncated_runs,
        }
    }
}

impl ProposalView {
    fn from_proposal(proposal: Proposal) -> Self {
        Self {
            title: Untrusted(proposal.title),
            body: Untrusted(proposal.body),
            labels: proposal.labels,
            pattern: PatternView::from_pattern(proposal.pattern),
        }
    }
}
