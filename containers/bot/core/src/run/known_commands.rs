//! A run repository's test and build commands, whose exit codes are evidence.

use std::collections::BTreeMap;

use ars_bot_ports::{GitRequest, Residents, Workspace};
use ars_codehost::pull_request::KnownCommands;
use ars_resident::detect::{NO_TEST, detect, manifest};
use ars_types::TreePlace;
use tokio_util::sync::CancellationToken;

/// Maximum manifest size in bytes; a longer manifest is not read.
const MAX_MANIFEST_BYTES: u64 = 256 << 10;
/// Maximum size of the root file names in bytes.
const MAX_NAMES_BYTES: usize = 256 << 10;

/// Returns the repository's onboarded commands, and those that the manifests select.
pub async fn known_commands(
    workspace: &dyn Workspace,
    residents: Option<&dyn Residents>,
) -> KnownCommands {
    let mut known = KnownCommands::default();
    if let Some(residents) = residents.filter(|_| workspace.placement().tree == TreePlace::Resident)
    {
        add_onboarded(&mut known, workspace, residents).await;
    }
    add_detected(&mut known, workspace).await;
    known
}

async fn add_onboarded(
    known: &mut KnownCommands,
    workspace: &dyn Workspace,
    residents: &dyn Residents,
) {
    let Some(repository) = workspace.repository() else {
        return;
    };
    let Ok(listed) = residents.list(&CancellationToken::new()).await else {
        return;
    };
    let is_this = |resource: &str| {
        resource
            .split_once(':')
            .is_some_and(|(_, slug)| slug == repository)
    };
    let row = listed
        .residents
        .into_iter()
        .find(|row| is_this(row.record.resource.as_str()));
    for (name, command) in row.into_iter().flat_map(|row| row.record.commands) {
        add(known, name.as_str(), command.as_str());
    }
}

/// Adds a command, unless it only stands for a missing command.
fn add(known: &mut KnownCommands, name: &str, command: &str) {
    if command != NO_TEST {
        known.add(name, command);
    }
}

/// Adds the commands that the commit's root files select. The files in the tree itself may have
/// changes.
async fn add_detected(known: &mut KnownCommands, workspace: &dyn Workspace) {
    let arguments = ["ls-tree", "--name-only", "-z", "HEAD"];
    let Some(names) = answer(workspace, &arguments, MAX_NAMES_BYTES).await else {
        return;
    };
    let mut files = BTreeMap::new();
    for name in names.split('\0').filter(|name| !name.is_empty()) {
        let content = match manifest([name]).is_some() {
            true => {
                let limit = usize::try_from(MAX_MANIFEST_BYTES).unwrap_or(usize::MAX);
                answer(workspace, &["show", &format!("HEAD:{name}")], limit)
                    .await
                    .unwrap_or_default()
            }
            false => String::new(),
        };
        files.insert(name.to_owned(), content);
    }
    let detection = detect(&files);
    add(known, "test", &detection.test);
    add(known, "build", &detection.build);
}

async fn answer(workspace: &dyn Workspace, arguments: &[&str], limit: usize) -> Option<String> {
    let request = GitRequest {
        arguments,
        output_limit: limit,
    };
    let answer = workspace
        .git(request, &CancellationToken::new())
        .await
        .ok()?;
    let is_whole = answer.exit_code == 0 && !answer.truncated;
    is_whole.then(|| String::from_utf8_lossy(&answer.output).into_owned())
}
