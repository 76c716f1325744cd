//! Whether repositories that a text names are onboarded (docs/reference/code-host.md#resolution).
//!
//! Not here: the text, and the requester's gate, which precedes each lookup (`dispatch`).

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use ars_bot_ports::{Residents, ResidentsError};
use ars_codehost::resolve::Listing;
use ars_resident::{names::Resource, refusal::Token, wire::StatusRequest};
use ars_types::RepoSlug;
use futures::future::join_all;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

/// Timeout for looking up a text's repositories among the residents; the lookups are concurrent.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(2);
/// Time without lookups after residents could not be reached.
const UNREACHABLE_PAUSE: Duration = Duration::from_secs(30);

/// The repositories with a resident.
///
/// Each lookup asks the registry, because a repository may have been onboarded a moment ago.
/// Listing the residents would need every resident's response.
pub(crate) struct OnboardedRepositories {
    residents: Option<Arc<dyn Residents>>,
    /// When the pause ends after residents could not be reached.
    paused_until: Mutex<Option<Instant>>,
}

impl OnboardedRepositories {
    pub(crate) fn new(residents: Option<Arc<dyn Residents>>) -> Self {
        Self {
            residents,
            paused_until: Mutex::default(),
        }
    }

    /// Looks repositories up. An installation without residents knows none.
    pub(crate) async fn look_up(&self, repositories: &[RepoSlug]) -> BTreeMap<RepoSlug, Listing> {
        let Some(residents) = self.residents.as_deref() else {
            return BTreeMap::new();
        };
        if self.is_paused() {
            return repositories
                .iter()
                .map(|repository| (repository.clone(), Listing::Unavailable))
                .collect();
        }
        let mut lookups = Vec::new();
        for repository in repositories {
            lookups.push(self.listing(residents, repository));
        }
        repositories
            .iter()
            .cloned()
            .zip(join_all(lookups).await)
            .collect()
    }

    async fn listing(&self, residents: &dyn Residents, repository: &RepoSlug) -> Listing {
        // A longer name has no resident.
        let Ok(resource) = Resource::for_repo(repository) else {
            return Listing::Unknown;
        };
        let (request, cancel) = (StatusRequest { resource }, CancellationToken::new());
        let error = match timeout(LOOKUP_TIMEOUT, residents.status(&request, &cancel)).await {
            Ok(Ok(_)) => return Listing::Known,
            Ok(Err(ResidentsError::Refused(refusal))) if refusal.token() == Token::NotOnboarded => {
                return Listing::Unknown;
            }
            Ok(Err(error)) => error,
            Err(_) => ResidentsError::Unreachable(format!("no answer in {LOOKUP_TIMEOUT:?}")),
        };
        tracing::warn!(%error, %repository, "a repository could not be looked up among the residents");
        if matches!(error, ResidentsError::Unreachable(_)) {
            let mut paused_until = self
                .paused_until
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            *paused_until = Some(Instant::now() + UNREACHABLE_PAUSE);
        }
        Listing::Unavailable
    }

    fn is_paused(&self) -> bool {
        let paused_until = self
            .paused_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        paused_until.is_some_and(|end| Instant::now() < end)
    }
}
