//! An in-memory ledger with transcripts, real phases and fences, and scripted failures.
//!
//! Leases are not enforced: another generation's runs can be reclaimed at any time.

use std::{
    collections::{BTreeMap, HashMap, VecDeque, hash_map::Entry},
    future,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use ars_bot_core::{Capabilities, LedgerDeps, live::LiveStores};
use ars_bot_ports::*;
use ars_events::Actor;
use ars_runs::RunRecord;
use ars_types::{Generation, RunId, StopMode};
use ars_wire::{
    Moment,
    idempotency::{FirstUse, IdempotencyKey},
    ledger::{Beat, Followup, Holder, LiveRun, NewRun, Owner, Phase, Reclaimed, StepRecord},
    transcript::{Attachment, Part, Transcript},
};
use async_trait::async_trait;
use serde_json::{Map, Value, value::RawValue};
use tokio::sync::Notify;

/// How a scripted request behaves.
#[derive(Debug, Clone, Copy)]
pub enum Fault {
    /// The request succeeds.
    None,
    /// It fails without an effect.
    Fail(StoreErrorKind),
    /// It takes effect, and the answer is lost.
    AnswerLost,
    /// It hangs without an effect.
    Hang,
    /// It takes effect after a delay, or not at all if it is dropped before.
    Slow(Duration),
    /// It fails without an effect, and the process is suspended for so long.
    StandStill(Duration),
}

/// A live run with all stored data.
pub struct Kept {
    pub row: LiveRun,
    pub events: BTreeMap<u64, Value>,
    pub steps: BTreeMap<u64, StepRecord>,
    pub inbox: Vec<Map<String, Value>>,
    pub stop_actor: Option<Actor>,
}

#[derive(Default)]
pub struct ScriptedLedger {
    pub runs: Mutex<HashMap<RunId, Kept>>,
    pub transcripts: Mutex<HashMap<RunId, Transcript>>,
    transcript_owners: Mutex<HashMap<RunId, Generation>>,
    pub records: Mutex<Vec<RunRecord>>,
    /// Each idempotency key's first use, by subject and key.
    pub keys: Mutex<HashMap<(String, String), FirstUse>>,
    /// Every request by name. A flush that extends leases counts as `lease` too.
    pub asked: Mutex<Vec<&'static str>>,
    /// Number of listings of live runs, which count as `live` too.
    pub listings: AtomicUsize,
    /// The position in each event request.
    pub read_after: Mutex<Vec<u64>>,
    faults: Mutex<HashMap<&'static str, VecDeque<Fault>>>,
    /// Notified after each request.
    heard: Notify,
}

impl ScriptedLedger {
    /// Scripts the next requests with this name.
    pub fn script(&self, name: &'static str, faults: impl IntoIterator<Item = Fault>) {
        self.faults
            .lock()
            .unwrap()
            .entry(name)
            .or_default()
            .extend(faults);
    }

    /// Lets requests with this name succeed again.
    pub fn mend(&self, name: &'static str) {
        self.faults.lock().unwrap().remove(name);
    }

    pub fn runs(&self) -> MutexGuard<'_, HashMap<RunId, Kept>> {
        self.runs.lock().unwrap()
    }

    pub fn count(&self, name: &str) -> usize {
        self.asked
            .lock()
            .unwrap()
            .iter()
            .filter(|asked| **asked == name)
            .count()
    }

    /// Waits for a condition, checking after each request.
    pub async fn until(&self, is_so: impl Fn(&Self) -> bool) {
        while !is_so(self) {
            self.heard.notified().await;
        }
    }

    /// Waits for the first record.
    pub async fn recorded(&self) -> RunRecord {
        self.until(|ledger| !ledger.records.lock().unwrap().is_empty())
            .await;
        self.records.lock().unwrap()[0].clone()
    }

    /// Returns the ledger for a process in this generation with a successor.
    pub fn capability(
        self: &Arc<Self>,
        generation: &str,
        channels: Arc<dyn Channels>,
    ) -> Capabilities {
        let ledger = LedgerDeps {
            stores: self.stores(),
            generation: Generation::parse(generation).unwrap(),
            channels,
            has_successor: true,
            reclaims: true,
        };
        Capabilities {
            ledger: Some(ledger),
            ..Capabilities::default()
        }
    }

    pub fn stores(self: &Arc<Self>) -> LiveStores {
        let (ledger, transcripts): (Arc<Self>, Arc<Self>) = (Arc::clone(self), Arc::clone(self));
        LiveStores {
            ledger,
            transcripts,
        }
    }

    /// Serves a request with the store transport's retries (`ars-bot-adapters`).
    async fn ask<T>(
        &self,
        name: &'static str,
        mut act: impl FnMut() -> T,
    ) -> Result<T, StoreError> {
        let backoff_ms: &[u64] = match name {
            "claim" => &[200, 800],
            "step" | "state" => &[200],
            _ => &[],
        };
        for wait in backoff_ms {
            match self.attempt(name, &mut act).await {
                Err(error) if error.kind == StoreErrorKind::Transient => {
                    // A timeout costs no time on a paused clock.
                    let wait =
                        tokio::time::timeout(Duration::from_millis(*wait), future::pending::<()>());
                    let _elapsed = wait.await;
                }
                answer => return answer,
            }
        }
        self.attempt(name, &mut act).await
    }

    async fn attempt<T>(
        &self,
        name: &'static str,
        act: &mut impl FnMut() -> T,
    ) -> Result<T, StoreError> {
        self.asked.lock().unwrap().push(name);
        let fault = self
            .faults
            .lock()
            .unwrap()
            .get_mut(name)
            .and_then(VecDeque::pop_front);
        let lost = |kind| {
            Err(StoreError {
                kind,
                message: "as scripted".into(),
            })
        };
        let answer = match fault {
            None | Some(Fault::None) => Ok(act()),
            Some(Fault::Fail(kind)) => lost(kind),
            Some(Fault::AnswerLost) => {
                act();
                lost(StoreErrorKind::Transient)
            }
            Some(Fault::Hang) => future::pending().await,
            Some(Fault::Slow(time)) => {
                // By the paused clock, so it costs a test no time.
                let _: Result<(), _> = tokio::time::timeout(time, future::pending()).await;
                Ok(act())
            }
            Some(Fault::StandStill(time)) => {
                tokio::time::advance(time).await;
                lost(StoreErrorKind::Transient)
            }
        };
        self.heard.notify_one();
        answer
    }

    /// Writes as the owner, in any phase.
    async fn write<T>(
        &self,
        name: &'static str,
        owner: &Owner,
        mut act: impl FnMut(&mut Kept) -> T,
    ) -> Result<Owned<T>, StoreError> {
        self.ask(name, || match self.runs().get_mut(&owner.run_id) {
            None => Owned::UnknownRun,
            Some(kept) if kept.row.owner_gen != owner.generation => Owned::Fenced,
            Some(kept) => Owned::Done(act(kept)),
        })
        .await
    }
}

fn seq_of(event: &RawValue) -> (u64, Value) {
    let event: Value = serde_json::from_str(event.get()).unwrap();
    (event["seq"].as_u64().unwrap(), event)
}

#[async_trait]
impl Ledger for ScriptedLedger {
    async fn claim(&self, run: &NewRun) -> Result<Claim, StoreError> {
        self.ask("claim", || {
            let keyed = run.idempotency.clone().map(
                |IdempotencyKey {
                     subject,
                     key,
                     fingerprint,
                 }| {
                    (
                        (subject, key),
                        FirstUse {
                            run_id: run.run_id.clone(),
                            fingerprint,
                        },
                    )
                },
            );
            let mut keys = self.keys.lock().unwrap();
            let first = keyed.as_ref().and_then(|(name, _)| keys.get(name));
            if let Some(first) = first.filter(|first| first.run_id != run.run_id) {
                return Claim::Repeated(first.clone());
            }
            let mut runs = self.runs();
            let holder = runs
                .values()
                .find(|kept| kept.row.thread_key == run.thread_key);
            if let Some(Kept { row, .. }) = holder.filter(|kept| kept.row.run_id != run.run_id) {
                let (run_id, started_at) = (row.run_id.clone(), row.started_at);
                let agent = row
                    .meta
                    .get("agent")
                    .and_then(Value::as_str)
                    .map(str::to_owned);
                return Claim::ThreadLive(Holder {
                    run_id,
                    agent,
                    started_at,
                });
            }
            let row = LiveRun {
                run_id: run.run_id.clone(),
                thread_key: run.thread_key.clone(),
                owner_gen: run.generation.clone(),
                lease_until: run.started_at,
                started_at: run.started_at,
                phase: Phase::Live,
                stop: None,
                meta: run.meta.clone(),
                card: run.card.clone(),
                system: run.system.clone(),
                tools: run.tools.clone(),
                state: run.state.clone().unwrap_or_default(),
            };
            let kept = Kept {
                row,
                events: BTreeMap::new(),
                steps: BTreeMap::new(),
                inbox: Vec::new(),
                stop_actor: None,
            };
            // The key is written with the claim: a rejected claim leaves none.
            if let Entry::Vacant(place) = runs.entry(run.run_id.clone()) {
                place.insert(kept);
                keys.extend(keyed);
            }
            Claim::Granted
        })
        .await
    }

    async fn first_use(&self, key: &IdempotencyKey) -> Result<Option<FirstUse>, StoreError> {
        let name = (key.subject.clone(), key.key.clone());
        self.ask("first_use", || {
            self.keys.lock().unwrap().get(&name).cloned()
        })
        .await
    }

    async fn live(&self) -> Result<Vec<LiveRun>, StoreError> {
        self.listings.fetch_add(1, Ordering::SeqCst);
        self.ask("live", || {
            self.runs().values().map(|kept| kept.row.clone()).collect()
        })
        .await
    }

    async fn live_of_thread(&self, thread_key: &str) -> Result<Option<LiveRun>, StoreError> {
        let is_of_thread = |kept: &&Kept| kept.row.thread_key == thread_key;
        self.ask("live", || {
            self.runs()
                .values()
                .find(is_of_thread)
                .map(|kept| kept.row.clone())
        })
        .await
    }

    async fn step(&self, owner: &Owner, record: &StepRecord) -> Result<Owned, StoreError> {
        self.write("step", owner, |kept| {
            drop(kept.steps.insert(record.step, record.clone()));
        })
        .await
    }

    async fn heartbeat(&self, owner: &Owner, _lease_ms: u32) -> Result<Owned<Beat>, StoreError> {
        self.write("heartbeat", owner, |Kept { row, .. }| Beat {
            stop: row.stop,
            phase: row.phase,
            stop_actor: None,
        })
        .await
    }

    async fn append(&self, owner: &Owner, events: &[Box<RawValue>]) -> Result<Owned, StoreError> {
        self.write("append", owner, |kept| {
            kept.events.extend(events.iter().map(|event| seq_of(event)));
        })
        .await
    }

    async fn state(&self, owner: &Owner, state: &Map<String, Value>) -> Result<Owned, StoreError> {
        self.write("state", owner, |kept| kept.row.state = state.clone())
            .await
    }

    async fn finishing(&self, owner: &Owner) -> Result<Owned, StoreError> {
        let granted = self.write("finishing", owner, |kept| {
            let is_first = kept.row.phase != Phase::Finishing;
            kept.row.phase = Phase::Finishing;
            is_first
        });
        Ok(match granted.await? {
            Owned::Done(true) => Owned::Done(()),
            Owned::Done(false) => Owned::Fenced,
            refused => refused.map(drop),
        })
    }

    async fn finish(&self, owner: &Owner, record: &RunRecord) -> Result<Owned<Stored>, StoreError> {
        let finished = self.write("finish", owner, |_| ()).await?;
        if finished == Owned::Done(()) {
            self.runs().remove(&owner.run_id);
            self.records.lock().unwrap().push(record.clone());
            self.heard.notify_one();
        }
        Ok(finished.map(|()| Stored { stored: true }))
    }

    async fn stop(
        &self,
        run: &RunId,
        mode: StopMode,
        actor: Option<&Actor>,
    ) -> Result<Stop, StoreError> {
        self.ask("stop", || match self.runs().get_mut(run) {
            Some(kept) => {
                kept.row.stop = Some(mode);
                kept.stop_actor = actor.cloned();
                Stop::Recorded { owner_live: true }
            }
            None => Stop::NotLive,
        })
        .await
    }

    async fn inbox(
        &self,
        run: &RunId,
        message: &Map<String, Value>,
    ) -> Result<Option<u64>, StoreError> {
        self.ask("inbox", || {
            let mut runs = self.runs();
            let inbox = &mut runs.get_mut(run)?.inbox;
            inbox.push(message.clone());
            Some(inbox.len() as u64)
        })
        .await
    }

    async fn handoff(
        &self,
        generation: &Generation,
        runs: &[RunId],
    ) -> Result<Vec<RunId>, StoreError> {
        self.ask("handoff", || {
            let mut live = self.runs();
            let marked = runs.iter().filter(|run| {
                let kept = live
                    .get_mut(run)
                    .filter(|kept| kept.row.owner_gen == *generation);
                kept.is_some_and(|kept| {
                    let is_live = kept.row.phase == Phase::Live;
                    kept.row.phase = if is_live {
                        Phase::Handoff
                    } else {
                        kept.row.phase
                    };
                    is_live
                })
            });
            marked.cloned().collect()
        })
        .await
    }

    async fn reclaim(
        &self,
        generation: &Generation,
        _lease_ms: u32,
        _now: Option<Moment>,
        except: &[RunId],
    ) -> Result<Vec<Reclaimed>, StoreError> {
        self.ask("reclaim", || {
            let mut runs = self.runs();
            let others = runs.values_mut().filter(|kept| {
                kept.row.owner_gen != *generation && !except.contains(&kept.row.run_id)
            });
            let taken = others.map(|kept| {
                let reclaimed_from = std::mem::replace(&mut kept.row.phase, Phase::Live);
                kept.row.owner_gen = generation.clone();
                let last_step = kept.steps.values().next_back().cloned();
                let consumed = last_step.as_ref().map_or(0, |step| step.inbox_consumed_seq);
                let inbox = kept
                    .inbox
                    .iter()
                    .zip(1..)
                    .filter(|(_, seq)| *seq > consumed);
                let inbox = inbox
                    .map(|(message, seq)| Followup {
                        seq,
                        message: message.clone(),
                    })
                    .collect();
                Reclaimed {
                    row: kept.row.clone(),
                    reclaimed_from,
                    last_step,
                    inbox,
                    jobs: Vec::new(),
                }
            });
            taken.collect()
        })
        .await
    }

    async fn live_events(&self, run: &RunId, after_seq: u64) -> Result<Vec<Value>, StoreError> {
        self.ask("live_events", || {
            self.read_after.lock().unwrap().push(after_seq);
            let runs = self.runs();
            let kept = runs.get(run).map(|kept| kept.events.range(after_seq + 1..));
            kept.map(|events| events.map(|(_, event)| event.clone()).collect())
                .unwrap_or_default()
        })
        .await
    }

    async fn flush(
        &self,
        generation: &Generation,
        lease_ms: Option<u32>,
        runs: &[FlushBatch],
    ) -> Result<Vec<Owned<FlushResponse>>, StoreError> {
        if lease_ms.is_some() {
            self.asked.lock().unwrap().push("lease");
        }
        self.ask("flush", || {
            let mut live = self.runs();
            let told = runs.iter().map(|news| match live.get_mut(&news.run) {
                None => Owned::UnknownRun,
                Some(kept) if kept.row.owner_gen != *generation => Owned::Fenced,
                Some(kept) => {
                    kept.events
                        .extend(news.events.iter().map(|event| seq_of(event)));
                    let unknown = kept
                        .inbox
                        .iter()
                        .zip(1..)
                        .filter(|(_, seq)| *seq > news.inbox_after);
                    let inbox = unknown
                        .map(|(message, seq)| Followup {
                            seq,
                            message: message.clone(),
                        })
                        .collect();
                    let stop_actor = kept.stop_actor.clone();
                    Owned::Done(FlushResponse {
                        stop: kept.row.stop,
                        stop_actor,
                        inbox,
                    })
                }
            });
            told.collect()
        })
        .await
    }
}

#[async_trait]
impl Transcripts for ScriptedLedger {
    async fn set_owner(&self, owner: &Owner) -> Result<(), StoreError> {
        let Owner { run_id, generation } = owner;
        let own = || {
            drop(
                self.transcript_owners
                    .lock()
                    .unwrap()
                    .insert(run_id.clone(), generation.clone()),
            );
        };
        self.ask("transcript.owner", own).await
    }

    async fn write(
        &self,
        owner: &Owner,
        parts: &[Part],
        attachments: &[Attachment],
    ) -> Result<Owned, StoreError> {
        self.ask("transcript.write", || {
            match self.transcript_owners.lock().unwrap().get(&owner.run_id) {
                None => return Owned::UnknownRun,
                Some(known) if *known != owner.generation => return Owned::Fenced,
                Some(_) => {}
            }
            let mut transcripts = self.transcripts.lock().unwrap();
            let Transcript {
                rows,
                attachments: kept,
            } = transcripts.entry(owner.run_id.clone()).or_default();
            kept.retain(|old| attachments.iter().all(|new| new.name != old.name));
            kept.extend_from_slice(attachments);
            rows.retain(|row| {
                parts
                    .iter()
                    .all(|part| (part.idx, part.part) != (row.idx, row.part))
            });
            rows.extend_from_slice(parts);
            rows.sort_by_key(|row| (row.idx, row.part));
            Owned::Done(())
        })
        .await
    }

    async fn read(&self, run: &RunId) -> Result<Transcript, StoreError> {
        self.ask("transcript.read", || {
            self.transcripts
                .lock()
                .unwrap()
                .get(run)
                .cloned()
                .unwrap_or_default()
        })
        .await
    }

    async fn clear(&self, owner: &Owner) -> Result<Owned, StoreError> {
        self.ask("transcript.clear", || {
            let mut owners = self.transcript_owners.lock().unwrap();
            if owners
                .get(&owner.run_id)
                .is_some_and(|known| *known != owner.generation)
            {
                return Owned::Fenced;
            }
            owners.remove(&owner.run_id);
            self.transcripts.lock().unwrap().remove(&owner.run_id);
            Owned::Done(())
        })
        .await
    }
}
