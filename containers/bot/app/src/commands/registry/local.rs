//! Invokes a command on the configured stores, as the service would.

use std::sync::Arc;

use ars_auth::TokenMap;
use ars_bot_core::{Core, commands::Caller};
use ars_commands::{Definition, RawInput};

use super::{Invocation, output::Output};
use crate::{
    commands::Failure,
    compose,
    environment::{self, name},
    logging,
};

/// Invokes the command on the configured stores.
pub(super) async fn invoke(invocation: Invocation) -> Result<Output, Failure> {
    let Invocation {
        definition,
        words,
        setup,
        ..
    } = invocation;
    let state_url = environment::variable(name::STATE_WORKER_URL);
    let plan = compose::plan(setup, &TokenMap::parse(None), state_url.as_deref()).await?;
    logging::start(Arc::clone(&plan.redactor), logging::Level::Errors);
    let core = plan.build(None, state_url).await?.core;
    on(&core, definition, words).await
}

/// Invokes a core's command as the command line user.
pub(super) async fn on(
    core: &Core,
    definition: &'static Definition,
    words: Vec<String>,
) -> Result<Output, Failure> {
    let invoked = core
        .commands()
        .invoke(&Caller::cli(), definition.id, &RawInput::Tokens(words))
        .await;
    let success = invoked.map_err(|failure| {
        Failure::Command(
            failure.code,
            ars_events::clean(&failure.message, usize::MAX),
        )
    })?;
    Ok(Output::new(success.json, &success.text))
}
