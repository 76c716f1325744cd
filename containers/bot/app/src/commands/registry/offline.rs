//! An invocation without stores and configuration, for commands that read saved files.

use std::{collections::BTreeMap, sync::Arc};

use ars_bot_adapters::{
    models::{Catalog, Transport},
    sandbox::SandboxSettings,
};
use ars_bot_core::{Capabilities, Core, Deps, commands::CommandDeps};
use ars_bot_ports::{RunStore, StoreError, StoreErrorKind, Stored};
use ars_events::Redactor;
use ars_runs::{RunRecord, StoredRun};
use ars_types::RunId;
use ars_wire::runs::{EventsPage, ListRequest, ListResponse};
use async_trait::async_trait;
use serde_json::Value;

use super::{Invocation, local, output::Output, sources::LocalSources};
use crate::{clock::SystemClock, commands::Failure, compose, config::File};

/// Invokes the command.
pub(super) async fn invoke(invocation: Invocation) -> Result<Output, Failure> {
    let Invocation { definition, words, .. } = invocation;
    let settings = File::default().settings(None, None).map_err(anyhow::Error::from)?;
    let models = Catalog::new(BTreeMap::new(), Transport::default()).map_err(anyhow::Error::from)?;
    let core = Core::new(Deps {
        clock: Arc::new(SystemClock),
        models: Arc::new(models),
        workspaces: Arc::new(compose::workspaces(&std::env::temp_dir(), SandboxSettings::default())),
        store: Arc::new(NoHistory),
        capabilities: Capabilities {
            commands: CommandDeps { sources: Some(Arc::new(LocalSources)), ..CommandDeps::default() },
            ..Capabilities::default()
        },
        redactor: Arc::new(Redactor::new([])),
        settings,
    });
    local::on(&core, definition, words).await
}

/// The history of a process without stores.
struct NoHistory;

fn no_history<T>() -> Result<T, StoreError> {
    Err(StoreError { kind: StoreErrorKind::Permanent, message: "this command has no history".to_owned() })
}

#[async_trait]
impl RunStore for NoHistory {
    async fn put(&self, _record: &RunRecord) -> Result<Stored, StoreError> {
        no_history()
    }

    async fn get(&self, _id: &RunId) -> Result<Option<RunRecord>, StoreError> {
        no_history()
    }

    async fn summary(&self, _id: &RunId) -> Result<Option<Value>, StoreError> {
        no_history()
    }

    async fn list(&self, _request: &ListRequest) -> Result<ListResponse<StoredRun>, StoreError> {
        no_history()
    }

    async fn events(&self, _id: &RunId, _after: u64, _limit: u32) -> Result<Option<EventsPage>, StoreError> {
        no_history()
    }

    async fn delete(&self, _id: &RunId) -> Result<bool, StoreError> {
        no_history()
    }
}
