//! The `POST /debug` operations on a single resident.

use std::rc::Rc;

use ars_resident::lifecycle::{DownCause, Input};
use ars_resident::names::{KeyNamespace, StrictThreadKey};
use ars_resident::refusal::{Refusal, Token};
use ars_resident::thread::Binding;
use ars_resident::wire::{DebugOp, ThreadRow};
use ars_sql::Sql;
use futures::FutureExt as _;
use serde_json::{Value, json};

use super::call::document;
use super::engine::Engine;
use crate::{Error, Host, TokenUse};

/// Milliseconds in a day.
const DAY_MS: i64 = 86_400_000;

impl<S: Sql + 'static, H: Host> Engine<S, H> {
    /// Performs an operation without parameters.
    pub(super) async fn debug(self: &Rc<Self>, op: DebugOp) -> Result<Value, Error> {
        match op {
            DebugOp::Info => document(&self.view()?),
            DebugOp::Schedules => self.pending(),
            DebugOp::Threads => {
                let rows: Vec<ThreadRow> =
                    self.store.bindings()?.iter().map(ThreadRow::from).collect();
                Ok(json!({ "threads": document(&rows)? }))
            }
            DebugOp::KillRefresh => {
                self.feed(Input::KillRefresh).await?;
                Ok(json!({ "killed": true, "remaining": 0 }))
            }
            DebugOp::RefreshNow => {
                self.feed(Input::RefreshNow).await?;
                Ok(json!({ "scheduled": true }))
            }
            DebugOp::StopContainer => self.stop_now().await,
            DebugOp::ForceOnboarding => {
                self.feed(Input::ForceOnboarding).await?;
                document(&self.status()?)
            }
            DebugOp::MintToken => self.mint_once().await,
            DebugOp::SweepNow => {
                let swept = self.sweep().await?;
                let keys: Vec<_> = swept
                    .evicted
                    .into_iter()
                    .map(|(binding, _)| binding.thread_key)
                    .collect();
                Ok(json!({ "evicted": keys, "kept": swept.kept.len() }))
            }
            DebugOp::ReclaimNow => self.reclaim_now().await,
            DebugOp::MeasureDisk => Ok(json!({ "disk": document(&self.measure().await?)? })),
            DebugOp::RunWatchdog
            | DebugOp::ForceDown
            | DebugOp::BackdateThread
            | DebugOp::PurgeBindings
            | DebugOp::SetTestOverrides => {
                Err(Refusal::new(Token::Invalid, "this operation has other parameters").into())
            }
        }
    }

    fn pending(&self) -> Result<Value, Error> {
        let schedules = self.store.lifecycle()?.schedules();
        let list = |at: Option<i64>| at.into_iter().collect::<Vec<_>>();
        Ok(json!({
            "refresh": list(schedules.refresh),
            "provisionRun": list(schedules.provision_run),
            "provisionDeadline": list(schedules.provision_deadline),
            "sweep": list(self.store.sweep_at()?),
        }))
    }

    async fn stop_now(self: &Rc<Self>) -> Result<Value, Error> {
        match self.host.stop().await {
            Ok(()) => {
                self.feed(Input::Stopped).await?;
                Ok(json!({ "stopped": true }))
            }
            Err(error) => Ok(json!({ "stopped": false, "error": clean(&error.to_string()) })),
        }
    }

    /// Mints a token and discards it.
    async fn mint_once(&self) -> Result<Value, Error> {
        let record = self.require_record()?;
        let op = DebugOp::MintToken.as_str();
        Ok(
            match self
                .host
                .mint(&record.resource, TokenUse::Fetch, false)
                .await
            {
                Ok(Some(_)) => {
                    json!({ "op": op, "ok": true, "note": "a token was minted and discarded" })
                }
                Ok(None) => {
                    json!({ "op": op, "ok": false, "error": "no credentials of a code host are configured" })
                }
                Err(error) => json!({ "op": op, "ok": false, "error": clean(&error.to_string()) }),
            },
        )
    }

    /// Fetches, then evicts trees whose branch is gone.
    async fn reclaim_now(self: &Rc<Self>) -> Result<Value, Error> {
        let record = self.require_record()?;
        let fetch = if self.host.runtime().await.is_none() {
            "skipped".to_owned()
        } else {
            let mut steps = super::steps::Steps::new(self);
            steps
                .mint_token(&record.resource, TokenUse::Fetch, true)
                .await;
            match steps.fetch(&self.host.origin(&record.resource)).await {
                Ok(()) => "ok".to_owned(),
                Err(error) => format!("fetch failed: {}", clean(&error.text())),
            }
        };
        let swept = self.sweep().await?;
        let row = |(binding, why): (Binding, &str)| json!({ "threadKey": binding.thread_key, "ref": binding.git_ref, "why": why });
        let reclaimed: Vec<Value> = swept.evicted.into_iter().map(row).collect();
        Ok(json!({ "reclaimed": reclaimed, "kept": swept.kept, "fetch": fetch }))
    }

    /// Sets the state to down.
    pub(super) async fn force_down(
        self: &Rc<Self>,
        reason: Option<String>,
    ) -> Result<Value, Error> {
        let detail = reason.unwrap_or_else(|| "an administrator set this state".to_owned());
        self.feed(Input::ForceDown {
            cause: DownCause::RestoreFailed,
            detail,
        })
        .await?;
        document(&self.status()?)
    }

    /// Moves a thread's last attach into the past.
    pub(super) fn backdate(&self, thread: &StrictThreadKey, days: u32) -> Result<Value, Error> {
        let Some(binding) = self.store.binding(thread)? else {
            return Ok(json!({ "ok": false }));
        };
        let last_attach_at = binding.last_attach_at - i64::from(days) * DAY_MS;
        let credential = self.store.credential(thread)?;
        self.store.save_binding(
            &Binding {
                last_attach_at,
                ..binding
            },
            credential,
        )?;
        Ok(json!({ "ok": true, "lastAttachAt": last_attach_at }))
    }

    /// Removes a namespace's bindings with their trees. Threads in use stay.
    pub(super) async fn purge(self: &Rc<Self>, prefix: &KeyNamespace) -> Result<Value, Error> {
        let (mut purged, mut kept) = (0, 0);
        let all = self.store.bindings()?;
        for binding in all
            .into_iter()
            .filter(|row| row.thread_key.as_str().starts_with(prefix.as_str()))
        {
            let turn = self.lock_thread(&binding.thread_key).now_or_never();
            let is_used = turn.is_none() || self.in_flight_of(&binding.thread_key) > 0;
            let is_removed = !is_used && {
                let tree = self.check_tree(&binding).await;
                binding.is_evicted() || self.evict(&binding, tree, "purged").await.is_ok()
            };
            if is_removed {
                self.store.remove_binding(&binding.thread_key)?;
                purged += 1;
            } else {
                kept += 1;
            }
        }
        Ok(json!({ "purged": purged, "keptLive": kept }))
    }
}

fn clean(text: &str) -> String {
    ars_events::clean(text, super::call::TEXT_MAX_CHARS)
}
