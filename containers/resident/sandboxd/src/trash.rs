//! Deletes removed trees, which takes long and happens after their removal.
//!
//! Only root reaches the trash, so a removed tree's user can serve another thread at once. The next
//! daemon deletes a killed daemon's leftovers. Not here: the move into the trash (`crate::steps`).

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use ars_resident::daemon::FailureKind;
use ars_resident::layout::TRASH;
use tokio_util::sync::CancellationToken;

use crate::{
    failure::{Context as _, Result},
    remove,
    runtime::Runtime,
    stop::Stop,
};

/// Time in which the trash is deleted.
const DELETION_TIMEOUT: Duration = Duration::from_secs(3_600);

/// Deletes removed trees in turn.
#[derive(Debug, Default)]
pub(crate) struct Trash {
    turn: Arc<tokio::sync::Mutex<()>>,
    closed: CancellationToken,
}

impl Trash {
    /// Deletes the trash in the background.
    pub(crate) fn empty_soon(&self, runtime: &Arc<Runtime>) {
        let (turn, runtime) = (Arc::clone(&self.turn), Arc::clone(runtime));
        let stop = Stop::new(self.closed.clone(), DELETION_TIMEOUT);
        tokio::spawn(async move {
            if let Err(failure) = empty(&turn, &runtime, &stop).await
                && failure.kind != FailureKind::Cancelled
            {
                tracing::warn!(reason = failure.stderr, "a removed tree is not deleted");
            }
        });
    }

    /// Waits until the trash is empty.
    pub(crate) async fn empty(&self, runtime: &Runtime, stop: &Stop) -> Result<()> {
        empty(&self.turn, runtime, stop).await
    }

    /// Ends the deletion, and waits until all processes end.
    pub(crate) async fn close(&self) {
        self.closed.cancel();
        drop(self.turn.lock().await);
    }
}

/// Deletes the trash's content. A tree that cannot be deleted does not keep the others.
async fn empty(turn: &tokio::sync::Mutex<()>, runtime: &Runtime, stop: &Stop) -> Result<()> {
    let _turn = stop.until(turn.lock()).await?;
    let mut result = Ok(());
    for path in entries(runtime)? {
        stop.check()?;
        let removed = remove::path(runtime, stop, &path).await;
        result = result.and(removed);
    }
    result
}

fn entries(runtime: &Runtime) -> Result<Vec<PathBuf>> {
    let folder = runtime.places.real(TRASH)?;
    let entries = fs::read_dir(folder).context(TRASH)?;
    entries
        .map(|entry| Ok(entry.context(TRASH)?.path()))
        .collect()
}
