//! The egress of one run: what all of its commands share.

use std::{
    collections::HashSet,
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use ars_bot_ports::RefusedHost;
use tokio::sync::Semaphore;

use super::{
    decide::{Destination, Protocol, Refused, decide},
    limits::{MAX_BYTES, MAX_CONNECTIONS, MAX_REPORTED},
    meter::Budget,
    policy::{EgressSettings, Scope},
    rule::HostRule,
};
use crate::web::{Lookup, SystemLookup};

/// The rules, counters and refused hosts of a run.
pub(crate) struct RunEgress {
    rules: Vec<HostRule>,
    pub(super) lookup: Arc<dyn Lookup>,
    pub(super) budget: Arc<Budget>,
    pub(super) connections: Arc<Semaphore>,
    refused: Mutex<Refusals>,
}

#[derive(Default)]
struct Refusals {
    known: HashSet<String>,
    new: Vec<RefusedHost>,
}

impl RunEgress {
    /// Makes the egress of a run.
    pub(crate) fn new(settings: &EgressSettings, scope: Scope<'_>) -> Arc<Self> {
        Self::with(settings.rules(scope), Arc::new(SystemLookup), MAX_BYTES, MAX_CONNECTIONS)
    }

    /// Makes the egress of a run with a given resolver and given limits.
    pub(super) fn with(
        rules: Vec<HostRule>,
        lookup: Arc<dyn Lookup>,
        bytes: u64,
        connections: usize,
    ) -> Arc<Self> {
        let (budget, connections) = (Arc::new(Budget::of(bytes)), Arc::new(Semaphore::new(connections)));
        Arc::new(Self { rules, lookup, budget, connections, refused: Mutex::default() })
    }

    /// Decides about a destination. Returns `None` for text that is no host.
    pub(super) fn decide(
        &self,
        protocol: Protocol,
        host: &str,
        port: u16,
    ) -> Option<Result<Destination, Refused>> {
        let decided = decide(&self.rules, protocol, host, port)?;
        Some(if self.budget.is_spent() { Err(Refused::Bytes) } else { decided })
    }

    /// Notes a refusal for the reader of the run, once for each host. Returns it.
    pub(super) fn refuse(&self, refused: &Refused) -> RefusedHost {
        let report = refused.report();
        let mut refusals = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refusals.known.len() < MAX_REPORTED && refusals.known.insert(report.host.clone()) {
            refusals.new.push(report.clone());
        }
        report
    }

    /// Returns the refused hosts that were not returned yet.
    pub(crate) fn take_refused(&self) -> Vec<RefusedHost> {
        mem::take(&mut self.refused.lock().unwrap_or_else(PoisonError::into_inner).new)
    }
}
