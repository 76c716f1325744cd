//! On a single machine, onboards repositories that runs work on, so that later threads start warm.
//!
//! The run that begins it works on a local tree and waits for nothing. A repository that had a
//! resident before is left out, because an administrator or a failed preparation removed it.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ars_bot_ports::{GitRequest, Repository, Residents, Workspace};
use ars_resident::{
    detect::{Detection, NO_OP, detect, manifest},
    names::Resource,
    wire::OnboardRequest,
};
use ars_types::StrictRefName;
use tokio_util::sync::CancellationToken;

use super::local::LocalTransport;

/// A default branch that no repository has. The resident then follows that of the origin.
const UNKNOWN_BRANCH: &str = "HEAD";
/// The origin's default branch, as the clone found it. The tree may be at another branch.
const DEFAULT_BRANCH: &str = "refs/remotes/origin/HEAD";
/// Maximum bytes read from the listing of a repository root.
const ROOT_MAX_BYTES: usize = 256 << 10;
/// Maximum manifest bytes that are read.
const MANIFEST_MAX_BYTES: usize = 256 << 10;

/// Onboards configured repositories automatically.
pub struct AutoOnboarding {
    transport: Arc<LocalTransport>,
    residents: Arc<dyn Residents>,
    repositories: Arc<[Repository]>,
    attempts: Mutex<HashMap<Resource, Attempt>>,
}

/// This process's attempts for a repository.
#[derive(Default)]
struct Attempt {
    /// An onboarding is in progress, or was accepted.
    is_requested: bool,
    /// Why the last onboarding was rejected. Runs that start before the next onboarding ends name
    /// it.
    rejection: Option<String>,
}

impl AutoOnboarding {
    /// Makes the onboarding for these repositories. Others are onboarded only by an administrator.
    pub fn new(
        transport: Arc<LocalTransport>,
        residents: Arc<dyn Residents>,
        repositories: Arc<[Repository]>,
    ) -> Self {
        Self {
            transport,
            residents,
            repositories,
            attempts: Mutex::default(),
        }
    }

    /// Returns the text for a run's reader on a repository without a resident. Returns `None` if
    /// the repository is not onboarded automatically.
    pub(super) fn offer(&self, repository: &Repository, resource: &Resource) -> Option<String> {
        if !self.repositories.contains(repository) || self.transport.had_resident(resource) {
            return None;
        }
        let name = &repository.name;
        let attempts = self.attempts();
        Some(
            match attempts
                .get(resource)
                .and_then(|attempt| attempt.rejection.as_ref())
            {
                Some(reason) => format!("{name} has no resident: {reason}"),
                None => {
                    format!("a resident of {name} is being prepared, and later threads start in it")
                }
            },
        )
    }

    /// Onboards a repository in the background. `tree` is a clone.
    pub(super) fn begin(self: &Arc<Self>, resource: Resource, tree: Arc<dyn Workspace>) {
        let mut attempts = self.attempts();
        let attempt = attempts.entry(resource.clone()).or_default();
        if std::mem::replace(&mut attempt.is_requested, true) {
            return;
        }
        drop(attempts);
        let own = Arc::clone(self);
        tokio::spawn(async move {
            let onboarded = own.onboard(&resource, &*tree).await;
            // The run may have ended, and others may need the tree.
            drop(tree);
            let rejection = onboarded.err();
            match &rejection {
                None => tracing::info!(
                    resource = resource.as_str(),
                    "repository onboarded automatically"
                ),
                Some(reason) => {
                    tracing::warn!(resource = resource.as_str(), %reason, "repository not onboarded");
                }
            }
            own.attempts().insert(
                resource,
                Attempt {
                    is_requested: rejection.is_none(),
                    rejection,
                },
            );
        });
    }

    async fn onboard(&self, resource: &Resource, tree: &dyn Workspace) -> Result<(), String> {
        // Nothing is built in the background until an administrator names the command.
        let table = Detection {
            build: NO_OP.to_owned(),
            ..inspect(tree).await?
        };
        let request = OnboardRequest {
            resource: resource.clone(),
            commands: table.table(),
            default_ref: StrictRefName::parse(UNKNOWN_BRANCH).map_err(|error| error.to_string())?,
            effects: None,
            disk_budget_mb: None,
            provisioning_timeout_ms: None,
            worktree_ttl_days: None,
            evict_coldest: false,
        };
        let answer = self
            .residents
            .onboard(&request, &CancellationToken::new())
            .await;
        answer.map(drop).map_err(|error| error.to_string())
    }

    fn attempts(&self) -> MutexGuard<'_, HashMap<Resource, Attempt>> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Detects the command table from the default branch at a tree's origin.
async fn inspect(tree: &dyn Workspace) -> Result<Detection, String> {
    let name = [
        "rev-parse",
        "--verify",
        "--quiet",
        &format!("{DEFAULT_BRANCH}^{{commit}}"),
    ];
    let found = git(tree, &name, ROOT_MAX_BYTES).await;
    let commit =
        found.map_err(|_| "the default branch of its origin is not known yet".to_owned())?;
    let commit = commit.trim();
    let listing = git(tree, &["ls-tree", "-z", commit], ROOT_MAX_BYTES).await?;
    let files = listing.split('\0').filter_map(|line| line.split_once('\t'));
    // Only the manifest's content is needed.
    let mut files: BTreeMap<String, String> = files
        .filter(|(entry, _)| entry.split(' ').nth(1) == Some("blob"))
        .map(|(_, name)| (name.to_owned(), String::new()))
        .collect();
    if let Some(name) = manifest(files.keys().map(String::as_str)) {
        let content = git(
            tree,
            &["cat-file", "blob", &format!("{commit}:{name}")],
            MANIFEST_MAX_BYTES,
        )
        .await?;
        files.insert(name.to_owned(), content);
    }
    Ok(detect(&files))
}

async fn git(
    tree: &dyn Workspace,
    arguments: &[&str],
    output_limit: usize,
) -> Result<String, String> {
    let request = GitRequest {
        arguments,
        output_limit,
    };
    let answer = tree
        .git(request, &CancellationToken::new())
        .await
        .map_err(|error| error.to_string())?;
    if answer.exit_code != 0 || answer.truncated {
        return Err(format!(
            "its files could not be read (git {})",
            arguments[0]
        ));
    }
    Ok(String::from_utf8_lossy(&answer.output).into_owned())
}
