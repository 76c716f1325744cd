//! What was changed at run time, over the configuration file (bot supplement section 12.3).
//!
//! The document is loaded when the process starts and held here, so that a request waits for no store. It is looked
//! for again and again: a store that was down comes back, and other processes make changes too. A change is made to a
//! copy, saved under the version it was made to, and only then in force. When somebody else's change came first,
//! theirs is loaded and this one made again to it, once. Not here: what a change may be (`ars_settings`), who may
//! make one (`ars_auth::policy`), and the commands that do.

#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use ars_bot_ports::{Documents, Replacement, StoreError};
use ars_settings::{Fault, Scopes};
use ars_wire::config::OVERRIDES;
use tokio::sync::{Mutex, watch};
use tokio_util::sync::CancellationToken;

/// How often a change is made to what is newest: again when somebody else's came first, but not forever.
const ATTEMPTS: usize = 2;
/// Between two looks at the store, and the longest that one may take: how late a change of another process is in force
/// here (bot supplement section 12.3 fixes no figure).
const REFRESH_EVERY: Duration = Duration::from_secs(30);

/// The overrides in force.
pub struct Overrides {
    documents: Arc<dyn Documents>,
    held: watch::Sender<Held>,
    /// Held while a change is made or looked for, so that those of this process do not race each other.
    changing: Mutex<()>,
}

/// The document as last seen.
#[derive(Clone, Default)]
struct Held {
    scopes: Arc<Scopes>,
    version: u64,
}

/// Why the overrides cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The store has not answered in time.
    #[error("the store has not said in time what the overrides are")]
    Late,
    /// The store does not say.
    #[error("the overrides cannot be loaded")]
    Store(#[source] StoreError),
    /// What it says is not an overrides document.
    #[error("the overrides cannot be read")]
    Malformed(#[source] Fault),
}

/// Why a change is not in force.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// It is not one that can be made.
    #[error("the change is refused")]
    Refused(#[source] Fault),
    /// The store does not take it, or what it holds cannot be read.
    #[error("the overrides are unavailable")]
    Unavailable(#[source] LoadError),
    /// Others' changes came first, more than once.
    #[error("others are changing the overrides")]
    Conflict,
}

impl Overrides {
    /// With nothing in force before the store was asked.
    pub fn new(documents: Arc<dyn Documents>) -> Self {
        Self { documents, held: watch::Sender::default(), changing: Mutex::new(()) }
    }

    /// Asks the store what is newest. What is in force stays so when it does not say, or not within `patience`.
    pub async fn refresh(&self, patience: Duration) -> Result<(), LoadError> {
        let refreshing = async {
            let _one_at_a_time = self.changing.lock().await;
            let newest = fetch(&*self.documents).await?;
            self.held.send_if_modified(|held| {
                let is_new = held.version != newest.version;
                *held = newest;
                is_new
            });
            Ok(())
        };
        tokio::time::timeout(patience, refreshing).await.unwrap_or(Err(LoadError::Late))
    }

    /// Asks again and again until `end` fires. Says when that begins to fail and when it works again.
    pub async fn keep_current(&self, end: CancellationToken) {
        let mut is_failing = false;
        while end.run_until_cancelled(tokio::time::sleep(REFRESH_EVERY)).await.is_some() {
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

    /// What is in force. Waits for nobody.
    pub fn current(&self) -> Arc<Scopes> {
        Arc::clone(&self.held.borrow().scopes)
    }

    /// Makes a change and saves it; answers what is in force then. `change` may be asked again, of a newer document.
    pub async fn change(
        &self,
        change: impl Fn(&Scopes) -> Result<Scopes, Fault> + Send,
    ) -> Result<Arc<Scopes>, ChangeError> {
        let _one_at_a_time = self.changing.lock().await;
        for _ in 0..ATTEMPTS {
            let held = self.held.borrow().clone();
            let wanted = change(&held.scopes).map_err(ChangeError::Refused)?;
            let document = wanted.document().map_err(ChangeError::Refused)?;
            let replaced = self.documents.replace(OVERRIDES, &document, held.version).await;
            match replaced.map_err(|error| ChangeError::Unavailable(LoadError::Store(error)))? {
                Replacement::Saved(version) => {
                    let scopes = Arc::new(wanted);
                    self.held.send_replace(Held { scopes: Arc::clone(&scopes), version });
                    return Ok(scopes);
                }
                Replacement::Stale(_) => {
                    let newer = fetch(&*self.documents).await.map_err(ChangeError::Unavailable)?;
                    self.held.send_replace(newer);
                }
            }
        }
        Err(ChangeError::Conflict)
    }
}

async fn fetch(documents: &dyn Documents) -> Result<Held, LoadError> {
    let found = documents.newest(OVERRIDES).await.map_err(LoadError::Store)?;
    let scopes = found.document.as_ref().map(Scopes::read).transpose().map_err(LoadError::Malformed)?;
    Ok(Held { scopes: Arc::new(scopes.unwrap_or_default()), version: found.version })
}
