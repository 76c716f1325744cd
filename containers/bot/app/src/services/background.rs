//! The core's background work as services.

use ars_bot_core::{Core, PullRequestFollower, Scheduler};
use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::Service;

/// Dispatches follow-ups that are unread.
pub struct RequeueService(pub Core);

#[async_trait]
impl Service for RequeueService {
    fn name(&self) -> &'static str {
        "requeue"
    }

    async fn run(self, stop: CancellationToken) {
        self.0.keep_requeued(stop).await;
    }
}

/// Flushes events, extends leases and reclaims orphaned runs.
pub struct LedgerService(Core);

impl LedgerService {
    /// Returns the service, or `None` for a core without a ledger.
    pub fn from_core(core: &Core) -> Option<Self> {
        core.generation().map(|_| Self(core.clone()))
    }
}

#[async_trait]
impl Service for LedgerService {
    fn name(&self) -> &'static str {
        "ledger"
    }

    async fn run(self, stop: CancellationToken) {
        self.0.keep_ledger(stop).await;
    }
}

/// Reads the configuration's overrides again when another process changed them.
pub struct OverridesService(Core);

impl OverridesService {
    /// Returns the service, or `None` for a core without overrides.
    pub fn from_core(core: &Core) -> Option<Self> {
        core.has_overrides().then(|| Self(core.clone()))
    }
}

#[async_trait]
impl Service for OverridesService {
    fn name(&self) -> &'static str {
        "overrides"
    }

    async fn run(self, stop: CancellationToken) {
        self.0.keep_overrides(stop).await;
    }
}

/// Fires this process's schedules.
pub struct ScheduleService(Scheduler);

impl ScheduleService {
    /// Returns the service, or `None` if no bot schedule is on.
    pub fn from_core(core: &Core) -> Option<Self> {
        core.scheduler().map(Self)
    }
}

#[async_trait]
impl Service for ScheduleService {
    fn name(&self) -> &'static str {
        "schedules"
    }

    async fn run(self, stop: CancellationToken) {
        self.0.run(stop).await;
    }
}

/// Asks the code host about pull requests without a known end.
pub struct FollowService(PullRequestFollower);

impl FollowService {
    /// Returns the service, or `None` without a code host or a run history.
    pub fn from_core(core: &Core) -> Option<Self> {
        core.pull_request_follower().map(Self)
    }
}

#[async_trait]
impl Service for FollowService {
    fn name(&self) -> &'static str {
        "pull-requests"
    }

    async fn run(self, stop: CancellationToken) {
        self.0.run(stop).await;
    }
}
