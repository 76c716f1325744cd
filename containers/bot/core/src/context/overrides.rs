//! Run-time overrides for the configuration file (docs/reference/configuration.md#layers).
//!
//! The document is loaded at start and cached, so that a request waits for no store. It is polled,
//! because a store may recover and other processes change it too. A change applies to a copy, is
//! saved by compare-and-swap, and only then takes effect. After a conflict the newer document is
//! loaded and the change applied to it, once. Not here: valid changes (`ars_settings`), permissions
//! (`ars_auth::policy`), and the commands.

#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use ars_bot_ports::{Documents, Replacement};
use ars_settings::{Fault, Scopes};
use ars_wire::config::OVERRIDES;
use tokio::sync::{Mutex, watch};
use tokio_util::sync::CancellationToken;

use crate::error::{ChangeError, LoadError};

/// Maximum attempts per change, including a retry after a conflict.
const ATTEMPTS: usize = 2;
/// Store polling interval and timeout, which bound how late another process's change arrives.
const REFRESH_EVERY: Duration = Duration::from_secs(30);

/// The overrides in effect.
pub struct Overrides {
    documents: Arc<dyn Documents>,
    loaded: watch::Sender<Loaded>,
    /// Locked during a change or a poll, so that this process's changes do not race.
    changing: Mutex<()>,
}

/// The last known document.
#[derive(Clone, Default)]
struct Loaded {
    scopes: Arc<Scopes>,
    version: u64,
}

impl Overrides {
    /// Overrides without a document until the first load.
    pub fn new(documents: Arc<dyn Documents>) -> Self {
        Self {
            documents,
            loaded: watch::Sender::default(),
            changing: Mutex::new(()),
        }
    }

    /// Loads the newest document. The current document stays in effect if the store fails or
    /// exceeds `timeout`.
    pub async fn refresh(&self, timeout: Duration) -> Result<(), LoadError> {
        let refreshing = async {
            let _one_at_a_time = self.changing.lock().await;
            let newest = fetch(&*self.documents).await?;
            self.loaded.send_if_modified(|loaded| {
                let is_new = loaded.version != newest.version;
                *loaded = newest;
                is_new
            });
            Ok(())
        };
        tokio::time::timeout(timeout, refreshing)
            .await
            .unwrap_or(Err(LoadError::Timeout))
    }

    /// Polls until `end` fires. Logs when polling starts to fail and when it recovers.
    pub async fn keep_current(&self, end: CancellationToken) {
        let mut is_failing = false;
        while end
            .run_until_cancelled(tokio::time::sleep(REFRESH_EVERY))
            .await
            .is_some()
        {
            let refreshed = self.refresh(REFRESH_EVERY).await;
            match &refreshed {
                Ok(()) if is_failing => tracing::info!("runtime overrides are current again"),
                Ok(()) => {}
                Err(error) if !is_failing => {
                    tracing::warn!(error = %error, "runtime overrides may be out of date");
                }
                Err(_still) => {}
            }
            is_failing = refreshed.is_err();
        }
    }

    /// Returns the overrides in effect, without waiting.
    pub fn current(&self) -> Arc<Scopes> {
        Arc::clone(&self.loaded.borrow().scopes)
    }

    /// Makes a change and saves it.
    /// Returns the overrides in effect afterwards. `change` may run again on a newer document.
    pub async fn change(
        &self,
        change: impl Fn(&Scopes) -> Result<Scopes, Fault> + Send,
    ) -> Result<Arc<Scopes>, ChangeError> {
        let _one_at_a_time = self.changing.lock().await;
        for _ in 0..ATTEMPTS {
            let loaded = self.loaded.borrow().clone();
            let wanted = change(&loaded.scopes).map_err(ChangeError::Refused)?;
            let document = wanted.document().map_err(ChangeError::Refused)?;
            let replaced = self
                .documents
                .replace(OVERRIDES, &document, loaded.version)
                .await;
            match replaced.map_err(|error| ChangeError::Unavailable(LoadError::Store(error)))? {
                Replacement::Saved(version) => {
                    let scopes = Arc::new(wanted);
                    self.loaded.send_replace(Loaded {
                        scopes: Arc::clone(&scopes),
                        version,
                    });
                    return Ok(scopes);
                }
                Replacement::Stale(_) => {
                    let newer = fetch(&*self.documents)
                        .await
                        .map_err(ChangeError::Unavailable)?;
                    self.loaded.send_replace(newer);
                }
            }
        }
        Err(ChangeError::Conflict)
    }
}

async fn fetch(documents: &dyn Documents) -> Result<Loaded, LoadError> {
    let found = documents
        .newest(OVERRIDES)
        .await
        .map_err(LoadError::Store)?;
    let scopes = found
        .document
        .as_ref()
        .map(Scopes::read)
        .transpose()
        .map_err(LoadError::Malformed)?;
    Ok(Loaded {
        scopes: Arc::new(scopes.unwrap_or_default()),
        version: found.version,
    })
}
