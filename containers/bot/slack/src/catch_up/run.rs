//! A catch-up: everything that happened while no socket was connected.

use ars_bot_core::time::iso;
use ars_wire::health::CatchUp;

use super::{missed, orphans};
use crate::{
    api::{ApiError, ChannelFacts},
    workspace::Workspace,
};

/// Maximum pages of the bot's channels: 1,000 channels.
const MAX_CHANNEL_PAGES: usize = 5;

/// Findings of a catch-up.
#[derive(Default)]
pub(super) struct Found {
    pub(super) missed: u64,
    pub(super) skipped: u64,
    pub(super) error: Option<String>,
    pub(super) missing_scopes: Vec<String>,
}

impl Found {
    /// Notes why a channel was not read.
    pub(super) fn fail(&mut self, error: &ApiError) {
        self.skipped += 1;
        self.explain(error);
    }

    pub(super) fn explain(&mut self, error: &ApiError) {
        if let ApiError::Refused {
            needed: Some(scope),
            ..
        } = error
            && !self.missing_scopes.contains(scope)
        {
            self.missing_scopes.push(scope.clone());
        }
        self.error.get_or_insert_with(|| error.to_string());
    }
}

/// Serves missed messages, and records the catch-up for the health probe.
pub(crate) async fn run(workspace: &Workspace) {
    let Some(core) = workspace.core() else { return };
    let at = core.clock().now();
    let mut found = Found::default();
    missed::serve_pending(workspace, &mut found).await;
    let channels = match channels(workspace).await {
        Ok(channels) => channels,
        Err(error) => {
            found.explain(&error);
            Vec::new()
        }
    };
    let threads = missed::serve(workspace, &channels, &mut found).await;
    orphans::close(workspace, threads);
    let record = CatchUp {
        last_run_at: iso(at),
        channels: channels.len() as u64,
        missed: found.missed,
        skipped_channels: found.skipped,
        error: found.error,
        missing_scopes: Some(found.missing_scopes).filter(|scopes| !scopes.is_empty()),
    };
    tracing::info!(
        channels = record.channels,
        missed = record.missed,
        skipped = record.skipped_channels,
        error = record.error,
        "catch-up of chat messages"
    );
    workspace
        .status
        .send_modify(|status| status.catch_up = Some(record));
}

async fn channels(workspace: &Workspace) -> Result<Vec<ChannelFacts>, ApiError> {
    let mut channels = Vec::new();
    let mut cursor = None;
    for _ in 0..MAX_CHANNEL_PAGES {
        let page = workspace.api.channels(cursor.as_deref()).await?;
        channels.extend(page.entries);
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    Ok(channels)
}
