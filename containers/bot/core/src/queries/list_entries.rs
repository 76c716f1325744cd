//! A filtered page of runs, for the commands: live runs first, then finished runs.

use ars_auth::Viewer;
use ars_bot_ports::StoreError;
use ars_types::RunId;
use ars_wire::{
    Moment,
    runs::{Cursor, ListRequest},
};

use super::{
    Queries, RunEntry, RunFilter,
    list::{Known, MAX_ROWS, MAX_SCANNED},
};

/// Maximum history requests for a page. A request can return fewer rows than wanted, because live
/// runs' records are provisional.
const MAX_REQUESTS: usize = 5;

/// Selects a part of the list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PageRequest {
    /// Whether live runs are wanted.
    pub active: bool,
    /// Whether finished runs are wanted.
    pub finished: bool,
    /// Match exactly this agent.
    pub agent: Option<String>,
    /// Match exactly this channel.
    pub channel: Option<String>,
    /// Finished at or after.
    pub since: Option<Moment>,
    /// Cursor: finished before. A page behind a cursor has finished runs only.
    pub before: Option<Moment>,
    /// Cursor: among equal times, ids below.
    pub before_id: Option<RunId>,
    /// Maximum number of rows.
    pub limit: usize,
    /// Whether diagnoses are wanted.
    pub has_diagnoses: bool,
}

/// The selected rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunPage {
    /// Live runs by start, then finished runs by end, newest first.
    pub runs: Vec<RunEntry>,
    /// The cursor behind a full page that ends on a stored run.
    pub next: Option<Cursor>,
    /// The ledger or the history did not answer, so runs may be missing.
    pub store_unavailable: bool,
}

impl PageRequest {
    fn matches(&self, run: &RunEntry) -> bool {
        let is = |wanted: &Option<String>, own: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| own == Some(wanted))
        };
        let ended = run.summary.finished.map(|(at, _)| at);
        is(&self.agent, run.summary.agent.as_deref())
            && is(&self.channel, Some(&run.summary.channel_id))
            && self
                .since
                .is_none_or(|since| ended.is_none_or(|at| at >= since))
    }

    fn is_after_cursor(&self, run: &RunEntry) -> bool {
        let Some(before) = self.before else {
            return true;
        };
        match (&self.before_id, run.summary.finished) {
            (_, None) => false,
            (Some(id), Some((at, _))) => (at, &run.summary.id) < (before, id),
            (None, Some((at, _))) => at < before,
        }
    }
}

impl Queries {
    /// Returns the runs that the viewer may read and that match.
    pub async fn list_entries(&self, viewer: &Viewer, request: &PageRequest) -> RunPage {
        let known = self.known(viewer).await;
        let mut runs = Vec::new();
        if request.active && request.before.is_none() {
            runs.extend(
                known
                    .active
                    .iter()
                    .filter(|run| request.matches(run))
                    .take(request.limit)
                    .cloned(),
            );
        }
        let wanted = request.limit - runs.len();
        if !request.finished || wanted == 0 {
            return RunPage {
                runs,
                next: None,
                store_unavailable: known.is_partial,
            };
        }
        let listed = self.stored_page(viewer, request, wanted, &known).await;
        let store_unavailable = known.is_partial || listed.is_err();
        let (stored, unread) = listed.unwrap_or_else(|error| {
            tracing::error!(error = %error, "run history not listed");
            (Vec::new(), None)
        });
        let is_read = |run: &&RunEntry| {
            unread
                .as_ref()
                .is_none_or(|at| run.summary.order() >= (at.finished_at, at.id.as_str()))
        };
        let local = known
            .finished
            .iter()
            .filter(|run| request.matches(run) && request.is_after_cursor(run));
        let mut ended = merged(local.filter(is_read).cloned().collect(), stored);
        ended.truncate(wanted);
        runs.append(&mut ended);
        let next = if runs.len() < request.limit {
            unread
        } else {
            runs.last().and_then(cursor_behind)
        };
        RunPage {
            runs,
            next,
            store_unavailable,
        }
    }

    /// Returns finished runs from the history, newest first.
    /// It may return fewer than there are, because the number of searched rows is bounded.
    ///
    /// # Errors
    ///
    /// The history did not answer.
    pub async fn finished_since(
        &self,
        viewer: &Viewer,
        since: Option<Moment>,
        limit: usize,
    ) -> Result<Vec<RunEntry>, StoreError> {
        self.finished_page(
            viewer,
            PageRequest {
                since,
                limit,
                has_diagnoses: true,
                ..PageRequest::default()
            },
        )
        .await
    }

    /// Returns finished runs like [`Self::finished_since`], without their diagnoses.
    ///
    /// # Errors
    /// The history did not answer.
    pub async fn finished_facts(
        &self,
        viewer: &Viewer,
        since: Option<Moment>,
        limit: usize,
    ) -> Result<Vec<RunEntry>, StoreError> {
        self.finished_page(
            viewer,
            PageRequest {
                since,
                limit,
                ..PageRequest::default()
            },
        )
        .await
    }

    async fn finished_page(
        &self,
        viewer: &Viewer,
        request: PageRequest,
    ) -> Result<Vec<RunEntry>, StoreError> {
        let known = self.known(viewer).await;
        Ok(self
            .stored_page(viewer, &request, request.limit, &known)
            .await?
            .0)
    }

    /// Reads the history until there are enough rows. Returns a cursor if it gave up before.
    async fn stored_page(
        &self,
        viewer: &Viewer,
        request: &PageRequest,
        wanted: usize,
        known: &Known,
    ) -> Result<(Vec<RunEntry>, Option<Cursor>), StoreError> {
        let mut rows: Vec<RunEntry> = Vec::new();
        let (mut before, mut before_id) = (request.before, request.before_id.clone());
        let mut unread = None;
        let max_requests = wanted / MAX_ROWS as usize + MAX_REQUESTS;
        for _ in 0..max_requests {
            let missing = u32::try_from(wanted - rows.len())
                .unwrap_or(MAX_ROWS)
                .min(MAX_ROWS);
            let list = ListRequest {
                limit: Some(missing),
                before,
                before_id: before_id.take(),
                since_ms: request.since,
                agent: request.agent.clone(),
                channel: request.channel.clone(),
                visible_to: None,
                diagnosis: Some(request.has_diagnoses),
                max_scanned: Some(MAX_SCANNED),
            };
            let (page, next) = self.stored(viewer, list, &RunFilter::default()).await?;
            rows.extend(page.into_iter().filter(|run| known.is_final(&run.summary)));
            unread = next.filter(|_| rows.len() < wanted);
            let Some(cursor) = &unread else { break };
            before = Some(cursor.finished_at);
            before_id = Some(cursor.id.clone());
        }
        Ok((rows, unread))
    }
}

/// Returns the cursor behind a stored run.
fn cursor_behind(run: &RunEntry) -> Option<Cursor> {
    let (finished_at, _) = run.summary.finished.filter(|_| run.detail.is_persisted)?;
    Some(Cursor {
        finished_at,
        id: run.summary.id.clone(),
    })
}

/// Merges the registry's and history's finished runs, newest first; a run's registry form wins.
fn merged(local: Vec<RunEntry>, stored: Vec<RunEntry>) -> Vec<RunEntry> {
    let mut runs = local;
    for row in stored {
        match runs.iter_mut().find(|run| run.summary.id == row.summary.id) {
            Some(run) => run.detail.is_persisted = run.summary.finished == row.summary.finished,
            None => runs.push(row),
        }
    }
    runs.sort_by(|a, b| b.summary.order().cmp(&a.summary.order()));
    runs
}
