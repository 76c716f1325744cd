//! A commit's checks, and the ends of check logs.

use ars_bot_ports::{
    CodeHostError,
    code_host::{CheckConclusion, CheckEntry, Listed, LogTail},
};
use ars_codehost::{answer::Meaning, diff::Commit, pull_request::CheckRun};
use ars_types::RepoSlug;
use serde_json::Value;

use super::{
    account::GitHub,
    call::{Access, HostCall, Limit},
    credentials::Credentials,
    transport::JSON,
    wire::{self, PAGE, part},
};

/// Maximum check pages read for a commit.
const MAX_CHECK_PAGES: usize = 3;
/// Bytes kept from a log's end.
const LOG_TAIL_BYTES: usize = 16_000;
/// Maximum log bytes read to find the end.
const MAX_LOG_BYTES: usize = 32 << 20;

/// Creates the check run, or replaces that of an earlier attempt. The host lets only apps do so.
pub(super) async fn put(
    github: &GitHub,
    repository: &RepoSlug,
    check: &CheckRun,
) -> Result<(), CodeHostError> {
    let body = serde_json::to_value(check).map_err(|_| CodeHostError::Unreadable)?;
    let [name, head] = ["name", "head_sha"].map(|field| body[field].as_str().unwrap_or_default());
    // Others may have more checks than a page, and without the filter only the newest with the name
    // is listed.
    let own = format!("check_name={}&filter=all", part(name));
    let found = runs(github, repository, (head, &own), 1).await?;
    let is_same =
        |one: &&wire::CheckRun| one.external_id.as_deref() == body["external_id"].as_str();
    let made: Result<Value, _> = match found.iter().find(is_same) {
        Some(earlier) => {
            let route = format!("/repos/{repository}/check-runs/{}", earlier.id);
            github.client.patch(&route, &body).await
        }
        None => {
            github
                .client
                .post(&format!("/repos/{repository}/check-runs"), &body)
                .await
        }
    };
    let is_plain = matches!(github.client.transport.credentials, Credentials::Token(_));
    match made {
        Ok(_) => Ok(()),
        Err(CodeHostError::Answer(Meaning::PermissionMissing)) if is_plain => {
            Err(CodeHostError::NeedsApp)
        }
        Err(error) => Err(error),
    }
}

/// Lists a commit's checks.
pub(super) async fn list(
    github: &GitHub,
    repository: &RepoSlug,
    commit: &Commit,
) -> Result<Listed<CheckEntry>, CodeHostError> {
    let login = github.login().await?.to_owned();
    let (mut found, mut truncated) = (Vec::new(), true);
    for page in 1..=MAX_CHECK_PAGES {
        let next = runs(github, repository, (commit.as_str(), "filter=latest"), page).await?;
        truncated = next.len() >= PAGE;
        found.extend(next);
        if !truncated {
            break;
        }
    }
    let entry = |one: wire::CheckRun| CheckEntry {
        id: one.id,
        name: one.name,
        conclusion: one.conclusion.as_deref().map(conclusion),
        is_own: one
            .app
            .is_some_and(|app| format!("{}[bot]", app.slug).eq_ignore_ascii_case(&login)),
        summary: one.output.map_or_else(String::new, |output| {
            let (title, summary) = (
                output.title.unwrap_or_default(),
                output.summary.unwrap_or_default(),
            );
            format!("{title}\n\n{summary}").trim().to_owned()
        }),
        url: one.html_url,
    };
    Ok(Listed {
        entries: found.into_iter().map(entry).collect(),
        truncated,
    })
}

/// Reads a page of a commit's check runs that a filter selects.
async fn runs(
    github: &GitHub,
    repository: &RepoSlug,
    (commit, filter): (&str, &str),
    page: usize,
) -> Result<Vec<wire::CheckRun>, CodeHostError> {
    let route = format!(
        "/repos/{repository}/commits/{commit}/check-runs?{filter}&per_page={PAGE}&page={page}"
    );
    Ok(github
        .client
        .get::<wire::CheckRuns>(&route)
        .await?
        .check_runs)
}

fn conclusion(word: &str) -> CheckConclusion {
    match word {
        "success" => CheckConclusion::Success,
        "failure" | "timed_out" | "startup_failure" | "action_required" => CheckConclusion::Failure,
        _ => CheckConclusion::Other,
    }
}

/// Reads a check log's end.
pub(super) async fn log_tail(
    github: &GitHub,
    repository: &RepoSlug,
    check: u64,
) -> Result<Option<LogTail>, CodeHostError> {
    let route = format!("/repos/{repository}/actions/jobs/{check}/logs");
    let limit = Limit::End(LOG_TAIL_BYTES, MAX_LOG_BYTES);
    let transport = &github.client.transport;
    let answer = match transport
        .execute(&HostCall::read(repository, route, JSON, limit))
        .await
    {
        Ok(answer) => answer,
        // The host redirects to a signed storage address, which must not receive the token.
        Err(CodeHostError::Answer(Meaning::Moved { to })) if transport.host.may_lead_to(&to) => {
            let call = HostCall {
                access: Access::Anonymous,
                target: to,
                ..HostCall::read(repository, String::new(), JSON, limit)
            };
            transport.execute(&call).await?
        }
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error),
    };
    let text = String::from_utf8_lossy(&answer.body);
    // A cut log starts with a partial line.
    let start = if answer.is_cut {
        text.find('\n').map_or(0, |at| at + 1)
    } else {
        0
    };
    Ok(Some(LogTail {
        text: text[start..].to_owned(),
        truncated: answer.is_cut,
    }))
}
