//! The checks.

use std::{path::Path, process::Stdio, sync::Arc, time::Duration};

use ars_agent::{Role, Turn};
use ars_bot_adapters::{
    models::{Catalog, ProviderKind, Transport},
    sandbox::{TRUSTED_PATH, trusted},
    workspace::{Confinement, GitWorkspaces},
};
use ars_bot_core::settings::Settings;
use ars_bot_ports::{CodeHostError, ModelRequest, Models as _};
use ars_bot_tools::agents;
use ars_types::{ModelRef, SandboxKind, SandboxNetwork};
use ars_wire::runs::ListRequest;
use rustix::fs::{Access, access};
use tokio::{process::Command, task::spawn_blocking, time::timeout};
use tokio_util::sync::CancellationToken;

use crate::{
    code_host::CodeHostConfig,
    compose::{Plan, missing_origins},
    config::HistoryStore,
    finding::Finding,
    secret_length::{self, MIN_SECRET_CHARS},
    stores::Kept,
};

/// Timeout for the model call.
const MODEL_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum answer tokens in that call.
const MAX_MODEL_TOKENS: u32 = 64;
/// Timeout for a response from a store or git.
const CHECK_TIMEOUT: Duration = Duration::from_secs(15);
/// How to fix a machine without a usable sandbox.
const INSTALL_A_SANDBOX: &str = "install bubblewrap (`apt install bubblewrap`) and set sandbox.kind to bubblewrap or \
                                 auto; docs/reference/workspace.md describes the other kinds";

/// How to fix a command proxy that does not work.
const CLOSE_THE_NETWORK: &str = "set sandbox.network to none, or mend what is named here";

/// Checks that a model is configured, and that providers which need a key have it.
pub(super) fn keys(plan: &Plan) -> Finding {
    const CHECK: &str = "keys";
    let models = plan
        .settings
        .default_model
        .iter()
        .chain(plan.settings.models.values());
    let models: Vec<&ModelRef> = models.collect();
    if models.is_empty() {
        return Finding::failure(
            CHECK,
            "no model is configured, so every request is rejected",
            mend_of_model(plan),
        );
    }
    let lacks_key = |name: &str| {
        let provider = plan.providers.get(name);
        provider.is_some_and(|config| {
            config.kind == ProviderKind::Anthropic && config.api_key.is_none()
        })
    };
    if let Some(model) = models.iter().find(|model| lacks_key(model.provider())) {
        let provider = model.provider();
        let mend = format!(
            "set ANTHROPIC_API_KEY, or name its variable in providers.{provider}.apiKeyEnv"
        );
        return Finding::failure(CHECK, format!("the provider {provider} has no key"), mend);
    }
    let providers = plan.providers.iter().map(|(name, config)| {
        format!(
            "{name} ({})",
            if config.api_key.is_some() {
                "key set"
            } else {
                "no key"
            }
        )
    });
    let default = plan.settings.default_model.as_ref().map_or_else(
        || "no default model".to_owned(),
        |model| format!("default model {}/{}", model.provider(), model.model()),
    );
    Finding::ok(
        CHECK,
        format!(
            "{default}; providers: {}",
            providers.collect::<Vec<_>>().join(", ")
        ),
    )
}

fn mend_of_model(plan: &Plan) -> &str {
    plan.model_hint.as_deref().unwrap_or("set defaults.model")
}

/// Calls the default model once.
pub(super) async fn model(plan: &Plan) -> Finding {
    const CHECK: &str = "model";
    let models = plan
        .settings
        .default_model
        .iter()
        .chain(plan.settings.models.values());
    let Some(model) = models.into_iter().next() else {
        return Finding::failure(CHECK, "no model is configured", mend_of_model(plan));
    };
    let name = format!("{}/{}", model.provider(), model.model());
    let mend = format!("check the key, the name and the baseUrl of {name}, and the network");
    let client = Catalog::new(plan.providers.clone(), Transport::default())
        .map_err(|error| error.to_string())
        .and_then(|catalog| catalog.client(model).map_err(|error| error.to_string()));
    let client = match client {
        Ok(client) => client,
        Err(error) => return Finding::failure(CHECK, error, mend),
    };
    let turns = [Turn::text(Role::User, "Reply with the word ok.")];
    let request = ModelRequest {
        model: model.model(),
        system: "",
        tools: &[],
        may_call_tools: false,
        turns: &turns,
        max_tokens: MAX_MODEL_TOKENS,
        effort: None,
    };
    let cancel = CancellationToken::new();
    match timeout(MODEL_TIMEOUT, client.turn(request, &|_| {}, &cancel)).await {
        Ok(Ok(_)) => Finding::ok(CHECK, format!("{name} answers")),
        Ok(Err(error)) => Finding::failure(CHECK, format!("{name}: {error}"), mend),
        Err(_) => Finding::failure(CHECK, format!("{name} did not answer in time"), mend),
    }
}

/// Asks the code host for the service's account and repositories.
pub(super) async fn code_host(config: Option<&CodeHostConfig>) -> Finding {
    const CHECK: &str = "code-host";
    const MEND: &str = "docs/guide/github.md lists the app's permissions and variables";
    let Some(config) = config else {
        return Finding::ok(
            CHECK,
            "not configured: no pull request, review or issue is posted",
        );
    };
    let host = match config.open() {
        Ok(host) => host,
        Err(error) => return Finding::failure(CHECK, error.to_string(), MEND),
    };
    let answers = async {
        let account = host.account().await?;
        Ok::<_, CodeHostError>((account.login, host.repositories().await?))
    };
    match timeout(CHECK_TIMEOUT, answers).await {
        Ok(Ok((login, listed))) if listed.entries.is_empty() => {
            Finding::warning(CHECK, format!("{login} may read no repository"), MEND)
        }
        Ok(Ok((login, listed))) => {
            let more = if listed.truncated { " or more" } else { "" };
            Finding::ok(
                CHECK,
                format!(
                    "{login} may read {}{more} repositories",
                    listed.entries.len()
                ),
            )
        }
        Ok(Err(error)) => Finding::failure(CHECK, error.to_string(), MEND),
        Err(_) => Finding::failure(CHECK, "the code host did not answer in time", MEND),
    }
}

/// Reads the store's newest record. An embedded store that does not exist is not created.
pub(super) async fn store(plan: &Plan, state_url: Option<String>) -> Finding {
    const CHECK: &str = "store";
    let place = plan.data_dir.display().to_string();
    if plan.file.run_history.store == Some(HistoryStore::None) {
        const MEND: &str = "set runHistory.store to embedded or worker";
        return match plan.check_spend_cap(Kept::Nothing) {
            Ok(()) => Finding::warning(
                CHECK,
                "run history is off: an ended run leaves no record, and a run ends with its process",
                MEND,
            ),
            Err(failure) => Finding::failure(CHECK, failure.message(), MEND),
        };
    }
    let is_embedded =
        state_url.is_none() && plan.file.run_history.store != Some(HistoryStore::Worker);
    if is_embedded && !plan.data_dir.exists() {
        return match usable_parent(&plan.data_dir) {
            Some(_) => Finding::ok(
                CHECK,
                format!("{place} does not exist yet; the first run creates it"),
            ),
            None => Finding::failure(
                CHECK,
                format!("{place} cannot be created: a part of its path is a file"),
                "name another directory with --data-dir or ARS_DATA_DIR",
            ),
        };
    }
    let mend = if is_embedded {
        format!("make {place} readable and writable for this user, or name another with --data-dir")
    } else {
        "check the state Worker's address (--state-url, STATE_WORKER_URL) and its bearer (MEMORY_TOKEN)"
            .to_owned()
    };
    let stores = match plan.stores(None, state_url) {
        Ok(stores) => stores,
        Err(failure) => return Finding::failure(CHECK, failure.message(), mend),
    };
    let newest = ListRequest {
        limit: Some(1),
        ..ListRequest::default()
    };
    match timeout(CHECK_TIMEOUT, stores.runs.list(&newest)).await {
        Ok(Ok(_)) if stores.kept == Kept::Records => Finding::ok(
            CHECK,
            format!("the store in {place} answers; without a ledger, a run ends with its process"),
        ),
        Ok(Ok(_)) if is_embedded => {
            Finding::ok(CHECK, format!("the embedded store in {place} answers"))
        }
        Ok(Ok(_)) => Finding::ok(CHECK, "the state Worker answers"),
        Ok(Err(error)) => Finding::failure(CHECK, error.to_string(), mend),
        Err(_) => Finding::failure(CHECK, "the store did not answer in time", mend),
    }
}

/// Checks the working tree folder that the configuration names. It is not created.
pub(super) fn tree_folder(folder: &Path) -> Finding {
    const CHECK: &str = "workspaces";
    const MEND: &str = "name a folder in workspaceDir that this user may write";
    let place = folder.display();
    let may_write = || access(folder, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK).is_ok();
    if folder.exists() {
        return if folder.is_dir() && may_write() {
            Finding::ok(CHECK, format!("working trees are in {place}"))
        } else {
            Finding::failure(
                CHECK,
                format!("{place} is no folder that this user may write"),
                MEND,
            )
        };
    }
    match usable_parent(folder) {
        Some(_) => Finding::ok(
            CHECK,
            format!("{place} does not exist yet; the first run creates it"),
        ),
        None => Finding::failure(
            CHECK,
            format!("{place} cannot be created: a part of its path is a file"),
            MEND,
        ),
    }
}

/// Returns the nearest ancestor that exists, if it is a directory.
fn usable_parent(path: &Path) -> Option<&Path> {
    path.ancestors()
        .find(|ancestor| ancestor.exists())
        .filter(|ancestor| ancestor.is_dir())
}

/// Checks that configured repositories' origins exist, as far as they are on this machine.
pub(super) fn repositories(settings: &Settings) -> Option<Finding> {
    const CHECK: &str = "repositories";
    let missing: Vec<&str> = missing_origins(settings).collect();
    (!missing.is_empty()).then(|| {
        let detail = format!("the origins of these do not exist: {}", missing.join(", "));
        Finding::warning(CHECK, detail, "correct `origin` under [[repositories]]")
    })
}

/// Names the variable with a secret that `ars serve` accepts on the loopback interface only.
pub(super) fn secrets(plan: &Plan) -> Option<Finding> {
    let variable = secret_length::first_short(plan)?;
    let detail = format!(
        "{variable} has a secret of fewer than {MIN_SECRET_CHARS} characters: `ars serve` accepts it on the loopback \
         interface only"
    );
    Some(Finding::warning("secrets", detail, secret_length::MEND))
}

/// Checks that the service finds git.
pub(super) async fn git() -> Finding {
    const CHECK: &str = "git";
    let missing = || {
        Finding::warning(
            CHECK,
            format!(
                "not found in {TRUSTED_PATH}: requests on repositories are refused, others work"
            ),
            "install git (`apt install git`)",
        )
    };
    let Some(git) = trusted("git") else {
        return missing();
    };
    let mut command = Command::new(git);
    command
        .arg("--version")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    match timeout(CHECK_TIMEOUT, command.output()).await {
        Ok(Ok(output)) if output.status.success() => Finding::ok(
            CHECK,
            String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        ),
        _ => missing(),
    }
}

/// Returns whether the default agent or the configured repositories need a working tree.
pub(super) fn needs_trees(settings: &Settings) -> bool {
    let agent = settings.default_agent.as_deref().and_then(agents::find);
    agent.is_some_and(|agent| agent.needs_repository)
        || settings.default_repository.is_some()
        || !settings.repositories.is_empty()
}

/// Runs a command in the sandbox, and reports what it leaves open.
/// Without a usable sandbox only requests without a working tree are served.
pub(super) async fn sandbox(workspaces: &Arc<GitWorkspaces>, needs_trees: bool) -> Finding {
    const CHECK: &str = "sandbox";
    let tried = Arc::clone(workspaces);
    let confinement = spawn_blocking(move || tried.confinement()).await;
    let proxy = workspaces.try_proxy().await;
    match confinement.unwrap_or_else(|error| Err(error.to_string())) {
        Ok(Confinement { kind, network, .. }) if proxy.is_err() => {
            let reason = proxy.err().unwrap_or_default();
            Finding::failure(
                CHECK,
                format!("{kind}; network {network}: {reason}"),
                CLOSE_THE_NETWORK,
            )
        }
        Ok(Confinement {
            kind,
            network,
            gaps,
            ..
        }) if gaps.is_empty() => Finding::ok(CHECK, format!("{kind}; network {network}")),
        Ok(Confinement {
            kind,
            network,
            gaps,
            skipped,
            ..
        }) => {
            let skipped = skipped
                .map(|reason| format!("; skipped: {reason}"))
                .unwrap_or_default();
            let detail = format!("{kind}; network {network}: {}{skipped}", gaps.join("; "));
            Finding::warning(CHECK, detail, close_gaps(kind, network))
        }
        Err(reason) if needs_trees => Finding::failure(
            CHECK,
            format!("the configured repositories or agent need a sandbox: {reason}"),
            INSTALL_A_SANDBOX,
        ),
        Err(reason) => Finding::warning(
            CHECK,
            format!("requests on repositories are refused, others work: {reason}"),
            INSTALL_A_SANDBOX,
        ),
    }
}

/// Returns how to fix a sandbox that leaves something open.
fn close_gaps(kind: SandboxKind, network: SandboxNetwork) -> &'static str {
    match (kind, network) {
        (SandboxKind::Bubblewrap, _) => "set sandbox.network to proxy or none",
        (_, SandboxNetwork::Open) => {
            "install bubblewrap (`apt install bubblewrap`), leave sandbox.kind at auto, and set sandbox.network to proxy \
             or none"
        }
        (_, SandboxNetwork::Proxy | SandboxNetwork::None) => {
            "install bubblewrap (`apt install bubblewrap`), and leave sandbox.kind at auto"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mend_of_a_sandbox_names_only_what_is_open() {
        for (kind, network, is_installed, is_closed) in [
            (SandboxKind::Bubblewrap, SandboxNetwork::Open, true, false),
            (SandboxKind::Landlock, SandboxNetwork::Open, false, false),
            (SandboxKind::Landlock, SandboxNetwork::Proxy, false, true),
        ] {
            let mend = close_gaps(kind, network);
            assert_eq!(mend.contains("install"), !is_installed, "{mend}");
            assert_eq!(mend.contains("sandbox.network"), !is_closed, "{mend}");
        }
    }
}
