//! A run's egress: everything that the run's commands share.

use std::{
    collections::HashSet,
    mem,
    sync::{Arc, Mutex, PoisonError},
};

use ars_bot_ports::RefusedHost;

use super::{
    connections::Connections,
    decide::{Destination, Protocol, Refused, decide},
    limits::{MAX_BYTES, MAX_CONNECTIONS, MAX_REPORTED},
    meter::Budget,
    policy::{EgressSettings, Scope},
    route::Route,
    rule::HostRule,
};
use crate::{
    logins::Logins,
    upstream::UpstreamProxy,
    web::{Lookup, SystemLookup},
};

/// A run's rules, counters and refused hosts.
pub(crate) struct RunEgress {
    rules: Vec<HostRule>,
    pub(super) lookup: Arc<dyn Lookup>,
    /// The proxy in the service's own network.
    pub(super) upstream: Arc<UpstreamProxy>,
    pub(super) budget: Arc<Budget>,
    pub(super) connections: Connections,
    /// The way to the run's own repository, if the service has a login for it.
    pub(super) route: Option<Route>,
    refused: Mutex<Refusals>,
}

#[derive(Default)]
struct Refusals {
    known: HashSet<String>,
    new: Vec<RefusedHost>,
}

impl RunEgress {
    /// Makes a run's egress.
    pub(crate) fn new(
        settings: &EgressSettings,
        scope: Scope<'_>,
        logins: &Logins,
        upstream: &Arc<UpstreamProxy>,
    ) -> Arc<Self> {
        let route = Route::for_run(scope, settings.may_push(scope), logins);
        let names = (
            Arc::new(SystemLookup) as Arc<dyn Lookup>,
            Arc::clone(upstream),
        );
        Self::routed(
            settings.rules(scope),
            names,
            route,
            (MAX_BYTES, MAX_CONNECTIONS),
        )
    }

    /// Makes a run's egress with a given resolver and given limits.
    #[cfg(test)]
    pub(super) fn with(
        rules: Vec<HostRule>,
        lookup: Arc<dyn Lookup>,
        bytes: u64,
        connections: usize,
    ) -> Arc<Self> {
        Self::routed(rules, (lookup, Arc::default()), None, (bytes, connections))
    }

    /// Makes a run's egress behind a service proxy.
    #[cfg(test)]
    pub(super) fn behind(
        rules: Vec<HostRule>,
        lookup: Arc<dyn Lookup>,
        upstream: UpstreamProxy,
    ) -> Arc<Self> {
        Self::routed(
            rules,
            (lookup, Arc::new(upstream)),
            None,
            (MAX_BYTES, MAX_CONNECTIONS),
        )
    }

    fn routed(
        rules: Vec<HostRule>,
        (lookup, upstream): (Arc<dyn Lookup>, Arc<UpstreamProxy>),
        route: Option<Route>,
        (bytes, connections): (u64, usize),
    ) -> Arc<Self> {
        let (budget, connections) = (
            Arc::new(Budget::new(bytes)),
            Connections::of_run(connections),
        );
        Arc::new(Self {
            rules,
            lookup,
            upstream,
            budget,
            connections,
            route,
            refused: Mutex::default(),
        })
    }

    /// Returns the variables that commands need for the way to their repository.
    pub(super) fn variables(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.route.iter().flat_map(Route::variables)
    }

    /// Decides about a destination. Returns `None` for text that is no host.
    pub(super) fn decide(
        &self,
        protocol: Protocol,
        host: &str,
        port: u16,
    ) -> Option<Result<Destination, Refused>> {
        let decided = decide(&self.rules, protocol, host, port)?;
        Some(if self.budget.is_spent() {
            Err(Refused::Bytes)
        } else {
            decided
        })
    }

    /// Notes a refusal for the run's reader, once for each host. Returns it.
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
        mem::take(
            &mut self
                .refused
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .new,
        )
    }
}
