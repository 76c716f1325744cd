//! An invocation without stores and configuration, for commands that read saved files.

use std::{collections::BTreeMap, sync::Arc};

use ars_bot_adapters::{
    models::{Catalog, Transport},
    sandbox::SandboxSettings,
};
use ars_bot_core::{Capabilities, Core, Deps, commands::CommandDeps, history::NoHistory};
use ars_events::Redactor;

use super::{Invocation, local, output::Output, sources::LocalSources};
use crate::{clock::SystemClock, commands::Failure, compose, config::File};

/// Invokes the command without stores.
pub(super) async fn invoke(invocation: Invocation) -> Result<Output, Failure> {
    let Invocation {
        definition, words, ..
    } = invocation;
    let settings = File::default()
        .settings(None, None)
        .map_err(anyhow::Error::from)?;
    let models =
        Catalog::new(BTreeMap::new(), Transport::default()).map_err(anyhow::Error::from)?;
    let core = Core::new(Deps {
        clock: Arc::new(SystemClock),
        models: Arc::new(models),
        workspaces: Arc::new(compose::workspaces(
            &std::env::temp_dir(),
            SandboxSettings::default(),
        )),
        store: Arc::new(NoHistory),
        capabilities: Capabilities {
            commands: CommandDeps {
                sources: Some(Arc::new(LocalSources)),
                ..CommandDeps::default()
            },
            ..Capabilities::default()
        },
        redactor: Arc::new(Redactor::new([])),
        settings,
    });
    local::on(&core, definition, words).await
}
