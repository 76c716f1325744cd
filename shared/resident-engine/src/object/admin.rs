//! The object's side of onboarding, offboarding, reconfiguration, rebuild and the watchdog.

use std::rc::Rc;

use ars_resident::lifecycle::{Input, StateWord, WatchdogAction};
use ars_resident::refusal::{Refusal, Token};
use ars_resident::registry::Record;
use ars_resident::thread::SWEEP_INTERVAL_MS;
use ars_resident::wire::{Discards, Keeps, OffboardPlan, OffboardReport, RebuildPlan, Reprovision};
use ars_sql::Sql;
use serde_json::{Value, json};

use super::call::document;
use super::engine::Engine;
use crate::{Error, Fault, Host};

/// Lateness from which the watchdog sets the sweep again.
const SWEEP_GRACE_MS: i64 = 300_000;
/// Delay before a sweep that the watchdog sets.
const SWEEP_DELAY_MS: i64 = 5_000;

impl<S: Sql + 'static, H: Host> Engine<S, H> {
    /// Starts provisioning. The registry has the row already.
    pub(super) async fn onboard(self: &Rc<Self>, record: &Record) -> Result<(), Fault> {
        self.store.save_record(record)?;
        self.feed(Input::Onboard(record.config())).await.map(drop)
    }

    /// Records the changed record.
    pub(super) async fn reconfigure(self: &Rc<Self>, record: &Record) -> Result<(), Fault> {
        self.store.save_record(record)?;
        self.feed(Input::Reconfigure(record.config()))
            .await
            .map(drop)
    }

    /// Returns what an offboarding would remove.
    pub(super) async fn offboard_plan(&self, record: &Record) -> Result<OffboardPlan, Fault> {
        let lifecycle = self.store.lifecycle()?;
        let backups: Vec<_> = lifecycle
            .snapshot()
            .iter()
            .flat_map(|snapshot| snapshot.backups())
            .collect();
        let mut backup_objects = backups.len();
        for backup in self.store.deps_backups()? {
            // An upload in progress has no digest, and may leave no object.
            backup_objects += usize::from(self.store.backup_digest(&backup)?.is_some());
        }
        // Unknown is null, never 0.
        let others = self
            .host
            .count_objects(&record.resource)
            .await
            .ok()
            .map(|counts| counts.others);
        Ok(OffboardPlan {
            resource: record.resource.clone(),
            dry_run: true,
            would_remove: json!({
                "registryRecord": true,
                "schedules": self.schedules()?,
                "snapshotBackupIds": backups,
                "backupObjects": backup_objects,
                "r2Objects": others,
                "threadBindings": self.store.bindings()?.len(),
                "container": lifecycle.status().0,
            }),
        })
    }

    /// Removes everything that belongs to the resident. A part that fails is reported and repeated.
    pub(super) async fn offboard(
        self: &Rc<Self>,
        record: &Record,
    ) -> Result<OffboardReport, Fault> {
        let schedules_cancelled = self.schedules()?;
        let effects = self.feed(Input::Offboard).await?;
        let clean = |error: &String| ars_events::clean(error, super::call::TEXT_MAX_CHARS);
        Ok(OffboardReport {
            resource: record.resource.clone(),
            registry_removed: true,
            schedules_cancelled,
            container_stopped: effects.container_stopped,
            storage_cleared: effects.storage_cleared,
            backup_objects_deleted: effects
                .objects
                .backups
                .saturating_add(effects.backups_deleted),
            r2_objects_deleted: effects.objects.others,
            errors: effects.errors.iter().map(clean).collect(),
        })
    }

    fn schedules(&self) -> Result<u32, Fault> {
        let schedules = self.store.lifecycle()?.schedules();
        let set = [
            schedules.refresh,
            schedules.provision_run,
            schedules.provision_deadline,
        ];
        let pending = set.iter().flatten().count() + usize::from(self.store.sweep_at()?.is_some());
        Ok(u32::try_from(pending).unwrap_or(u32::MAX))
    }

    /// Answers `/rebuild`. A cycle in progress rejects it.
    pub(super) async fn rebuild(self: &Rc<Self>, dry_run: bool) -> Result<RebuildPlan, Error> {
        let record = self.require_record()?;
        let lifecycle = self.store.lifecycle()?;
        let from = self.status()?;
        if matches!(
            from.state,
            StateWord::Onboarding | StateWord::Refreshing | StateWord::Restoring
        ) {
            let detail = format!(
                "the resident is {}; repeat the request later",
                from.state.as_str()
            );
            return Err(Refusal::new(Token::RebuildRefused, &detail)
                .in_state(from.state)
                .into());
        }
        let snapshot = lifecycle.snapshot().cloned();
        let backup_objects = snapshot
            .as_ref()
            .map_or(0, |snapshot| snapshot.backups().len());
        let mut plan = RebuildPlan {
            resource: record.resource.clone(),
            dry_run,
            from,
            discards: Discards {
                snapshot,
                backup_objects: u32::try_from(backup_objects).unwrap_or(u32::MAX),
            },
            reprovision: Reprovision {
                default_ref: record.default_ref.clone(),
                provisioning_timeout_ms: record.provisioning_timeout_ms,
            },
            keeps: Keeps {
                registry_record: true,
                thread_bindings: u32::try_from(self.store.bindings()?.len()).unwrap_or(u32::MAX),
                checkpoints: self.store.checkpoint_count()?,
            },
            backup_objects_deleted: None,
            state: None,
        };
        if !dry_run {
            let effects = self.feed(Input::Rebuild).await?;
            plan.backup_objects_deleted = Some(effects.backups_deleted);
            plan.state = Some(StateWord::Onboarding);
        }
        Ok(plan)
    }

    /// Performs a watchdog pass over stored values. It starts no container.
    pub(super) async fn watchdog(self: &Rc<Self>) -> Result<Value, Error> {
        let record = self.require_record()?;
        let now = self.host.now();
        let is_running = self.live.borrow().running.is_some();
        let mut action = self.store.lifecycle()?.watchdog_verdict(is_running, now);
        if self
            .store
            .sweep_at()?
            .is_some_and(|at| now - at > SWEEP_INTERVAL_MS + SWEEP_GRACE_MS)
        {
            self.store.save_sweep_at(Some(now + SWEEP_DELAY_MS))?;
            if action == WatchdogAction::None {
                action = WatchdogAction::Rearmed;
            }
        }
        self.feed(Input::Watchdog { is_running }).await?;
        let status = self.status()?;
        let disk = document(&self.store.disk()?)?;
        Ok(json!({
            "resource": record.resource,
            "state": status.state,
            "reason": status.reason,
            "action": action,
            "disk": disk,
        }))
    }
}
