//! Schedules and the record of their firings.

use std::sync::Arc;

use ars_bot_core::{Capabilities, commands::CommandDeps};
use ars_bot_ports::{Schedules, StoreError, StoreErrorKind};
use ars_wire::schedules::Firing;
use async_trait::async_trait;
use serde_json::json;

use super::support::{browser, desk_with, none};

struct Firings(Option<StoreErrorKind>);

#[async_trait]
impl Schedules for Firings {
    async fn record(&self, _firing: &Firing) -> Result<u64, StoreError> {
        Ok(0)
    }

    async fn latest(&self) -> Result<Vec<Firing>, StoreError> {
        match self.0 {
            None => Ok(Vec::new()),
            Some(kind) => Err(StoreError { kind, message: "as scripted".into() }),
        }
    }
}

/// Adds a record of firings.
pub fn with_schedules(capabilities: Capabilities) -> Capabilities {
    having(capabilities, None)
}

fn having(capabilities: Capabilities, failure: Option<StoreErrorKind>) -> Capabilities {
    let commands = CommandDeps { schedules: Some(Arc::new(Firings(failure))), ..capabilities.commands };
    Capabilities { commands, ..capabilities }
}

#[tokio::test]
async fn internal_schedules_are_not_listed() {
    let desk = desk_with(Vec::new(), with_schedules, |settings| settings);
    assert_eq!(desk.output(&browser(), "schedule.list", none()).await, json!({ "schedules": [] }));
}

#[tokio::test]
async fn outage_leaves_the_schedules() {
    let down = |capabilities| having(capabilities, Some(StoreErrorKind::Transient));
    let desk = desk_with(Vec::new(), down, |settings| settings);
    let listed = desk.output(&browser(), "schedule.list", none()).await;
    let reason = "the record of firings is not available right now";
    assert_eq!(listed, json!({ "schedules": [], "firingsUnavailable": reason }));
}
