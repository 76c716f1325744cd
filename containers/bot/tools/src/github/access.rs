//! The code host as a single run may use it.

use std::time::Duration;

use ars_bot_ports::{CodeHost, CodeHostError};
use ars_codehost::parse_slug;
use ars_types::RepoSlug;
use serde_json::Value;

use super::{kind::GitHubTool, read_repositories::ReadRepositories};
use crate::{ToolContext, ToolOutput, args::Args};

/// Maximum time for a tool's code host calls, including waits for limits.
const HOST_CALL_TIMEOUT: Duration = Duration::from_secs(60);

/// The requester's repository gate.
pub trait RepositoryGate: Send + Sync {
    /// Checks whether the requester may read a repository.
    ///
    /// # Errors
    /// Returns why not.
    fn read(&self, repository: &RepoSlug) -> Result<(), Denial>;

    /// Checks whether the requester may write issues and comments in a repository.
    ///
    /// # Errors
    /// Returns why not.
    fn write_issues(&self, repository: &RepoSlug) -> Result<(), Denial>;
}

/// Why a repository may not be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    /// The repository is closed to the requester.
    Repository,
    /// The run answers on an item in another repository, and does not leave it.
    Elsewhere,
    /// The requester has no grant to write issues.
    Grant,
}

/// A run's code host, with the requester's gate.
#[derive(Clone, Copy)]
pub struct CodeHostAccess<'a> {
    /// The code host itself.
    pub host: &'a dyn CodeHost,
    /// The requester's repository gate.
    pub gate: &'a dyn RepositoryGate,
    /// The repositories that the run read.
    pub read: &'a ReadRepositories,
}

impl<'a> CodeHostAccess<'a> {
    /// Returns a run's access, or the output for a tool that needs it.
    pub(super) fn from_context(context: &ToolContext<'a>) -> Result<Self, ToolOutput> {
        context
            .run
            .code_host
            .ok_or_else(|| ToolOutput::refused("This installation has no code host."))
    }

    /// Parses a tool's repository name and checks the gate.
    fn repository(&self, named: &str, tool: GitHubTool) -> Result<RepoSlug, ToolOutput> {
        let slug = parse_slug(named.trim())
            .ok_or_else(|| ToolOutput::refused("`repo` must be a repository as owner/name."))?;
        let checked =
            self.gate
                .read(&slug)
                .and_then(|()| match GitHubTool::WRITES.contains(&tool) {
                    false => Ok(()),
                    true => self.gate.write_issues(&slug),
                });
        match checked {
            Ok(()) => Ok(slug),
            Err(Denial::Elsewhere) => Err(ToolOutput::refused(
                "This run answers on an item of another repository, so it uses that repository only.",
            )),
            Err(Denial::Repository) => Err(ToolOutput::refused(
                "The requester may not use this repository.",
            )),
            Err(Denial::Grant) => Err(ToolOutput::refused(
                "The requester may not write issues: an administrator can grant `issue:write`.",
            )),
        }
    }
}

/// A tool call on a repository, after the checks.
pub(super) struct RepositoryCall<'a> {
    pub(super) tool: GitHubTool,
    pub(super) args: Args<'a>,
    pub(super) access: CodeHostAccess<'a>,
    pub(super) repository: RepoSlug,
    /// First character of the text to show.
    pub(super) offset: usize,
}

impl<'a> RepositoryCall<'a> {
    /// Checks a tool's input and the repository's gate.
    pub(super) fn parse(
        tool: GitHubTool,
        context: &ToolContext<'a>,
        input: &'a Value,
    ) -> Result<Self, ToolOutput> {
        let args = Args::parse(input, tool.fields().0)?;
        let access = CodeHostAccess::from_context(context)?;
        let repository = access.repository(args.text("repo")?, tool)?;
        let offset = args.offset()?;
        Ok(Self {
            tool,
            args,
            access,
            repository,
            offset,
        })
    }
}

/// Waits for a host call, within the run's time.
pub(super) async fn within<T>(
    context: &ToolContext<'_>,
    call: impl Future<Output = Result<T, CodeHostError>>,
) -> Result<T, ToolOutput> {
    let limit = HOST_CALL_TIMEOUT.min(context.remaining);
    match tokio::time::timeout(limit, call).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(ToolOutput::refused(format!(
            "{}.",
            capitalized(&error.to_string())
        ))),
        Err(_) => Err(ToolOutput::refused(format!(
            "The code host did not answer within {} s.",
            limit.as_secs()
        ))),
    }
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| {
        format!("{}{}", first.to_uppercase(), chars.as_str())
    })
}
