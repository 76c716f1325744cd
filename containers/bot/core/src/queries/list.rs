//! Run lists: every process's live runs first, then the finished runs.

use std::collections::BTreeSet;

use ars_auth::Viewer;
use ars_bot_ports::StoreError;
use ars_types::{RunId, visible_to::Filter};
use ars_wire::runs::{Cursor, ListRequest, ListResponse};

use super::{Queries, RunEntry, RunFilter, RunSummary};

/// Most rows that the history returns at once.
pub(super) const MAX_ROWS: u32 = 200;
/// Maximum rows that the history searches for a request. A page that ends there has a cursor.
pub(super) const MAX_SCANNED: u32 = 5_000;

/// The selected part of the list.
#[derive(Debug, Clone, PartialEq)]
pub enum Selection {
    /// Live runs only.
    Active,
    /// Live runs and the first page of finished runs.
    All,
    /// The first page of finished runs.
    Finished,
    /// A later page of finished runs.
    After(Cursor),
}

/// A page from the run list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// Live runs, newest first. Empty behind a cursor.
    pub active: Vec<RunSummary>,
    /// Finished runs, newest first.
    pub finished: Vec<RunSummary>,
    /// Cursor for the next page, if there is any.
    pub older: Option<Cursor>,
    /// The ledger or the history did not answer, so runs may be missing.
    pub store_unavailable: bool,
    /// Run history is off, so a finished run leaves the list with the registry.
    pub history_off: bool,
}

/// Every run that is known without the history.
pub(super) struct Known {
    /// Readable live runs, newest first.
    pub(super) active: Vec<RunEntry>,
    /// Readable finished runs from the registry.
    pub(super) finished: Vec<RunEntry>,
    /// Every live run, readable or not: the record is provisional.
    live: BTreeSet<RunId>,
    /// The ledger did not answer, so any provisional record may belong to a live run.
    pub(super) is_partial: bool,
}

impl Known {
    /// Returns whether a stored run has ended for all that is known.
    pub(super) fn is_final(&self, run: &RunSummary) -> bool {
        !(self.live.contains(&run.id) || self.is_partial && run.is_provisional())
    }
}

/// The runs that a viewer may follow.
pub(super) struct Shown {
    /// Live runs and the registry's finished runs, newest first.
    pub(super) runs: Vec<RunSummary>,
    /// The ledger did not answer, so other processes' live runs are missing.
    pub(super) is_partial: bool,
}

/// A page from the history.
struct StoredPage {
    runs: Vec<RunSummary>,
    /// The last row on a full page, shown or not. Runs behind it are on later pages.
    next: Option<Cursor>,
}

impl Queries {
    /// Returns the runs that the viewer may read and the filter allows, with at most `limit`
    /// finished runs.
    pub async fn list(
        &self,
        viewer: &Viewer,
        selection: Selection,
        filter: &RunFilter,
        limit: usize,
    ) -> Page {
        let mut known = self.known(viewer).await;
        known.active.retain(|run| filter.allows(&run.summary));
        known.finished.retain(|run| filter.allows(&run.summary));
        let (has_active, cursor) = match selection {
            Selection::Active => {
                let store_unavailable = known.is_partial;
                return Page {
                    active: summaries(known.active),
                    store_unavailable,
                    ..Page::default()
                };
            }
            Selection::All => (true, None),
            Selection::Finished => (false, None),
            Selection::After(cursor) => (false, Some(cursor)),
        };
        // A row more than a page shows whether there is an older run. Each live run may have a
        // provisional record.
        let rows = u32::try_from(limit + 1 + known.live.len())
            .unwrap_or(u32::MAX)
            .min(MAX_ROWS);
        let request = ListRequest {
            limit: Some(rows),
            before: cursor.as_ref().map(|cursor| cursor.finished_at),
            before_id: cursor.as_ref().map(|cursor| cursor.id.clone()),
            agent: filter.agent.clone(),
            channel: filter.channel.clone(),
            diagnosis: Some(false),
            max_scanned: Some(MAX_SCANNED),
            ..ListRequest::default()
        };
        let listed = self.stored(viewer, request, filter).await;
        let store_unavailable = known.is_partial || listed.is_err();
        let (stored, next) = listed.unwrap_or_else(|error| {
            tracing::error!(error = %error, "run history not listed");
            (Vec::new(), None)
        });
        let mut stored = StoredPage {
            runs: summaries(stored),
            next,
        };
        stored.runs.retain(|run| known.is_final(run));
        let (finished, older) = merge(summaries(known.finished), stored, cursor.as_ref(), limit);
        let active = if has_active {
            summaries(known.active)
        } else {
            Vec::new()
        };
        let history_off = !self.context.store().keeps_records();
        Page {
            active,
            finished,
            older,
            store_unavailable,
            history_off,
        }
    }

    /// Returns every live run that the viewer may read, and the registry's finished runs.
    pub(super) async fn shown(&self, viewer: &Viewer) -> Shown {
        let Known {
            active,
            finished,
            is_partial,
            ..
        } = self.known(viewer).await;
        let mut runs = summaries(active);
        runs.extend(summaries(finished));
        runs.sort_by(|a, b| (b.started_at, &b.id).cmp(&(a.started_at, &a.id)));
        Shown { runs, is_partial }
    }

    pub(super) async fn known(&self, viewer: &Viewer) -> Known {
        let listing = self.live_rows().await;
        let local = self.context.registry().list();
        let remote = listing
            .rows()
            .iter()
            .filter(|row| !local.iter().any(|run| run.id == row.id));
        let mut live: BTreeSet<RunId> = remote.clone().map(|row| row.id.clone()).collect();
        live.extend(
            local
                .iter()
                .filter(|run| run.finished.is_none())
                .map(|run| run.id.clone()),
        );
        let runs = local
            .iter()
            .map(RunEntry::of_live)
            .chain(remote.filter_map(RunEntry::of_row));
        let readable = runs.filter(|run| run.is_readable(viewer));
        let (mut active, finished): (Vec<_>, Vec<_>) =
            readable.partition(|run| run.summary.finished.is_none());
        active.sort_by(|a, b| {
            (b.summary.started_at, &b.summary.id).cmp(&(a.summary.started_at, &a.summary.id))
        });
        Known {
            active,
            finished,
            live,
            is_partial: listing.is_unavailable,
        }
    }

    /// Returns stored runs that the viewer may read, and the cursor behind a full page.
    /// The history filters them, so that a page is full however many other runs there are; the result is checked again.
    pub(super) async fn stored(
        &self,
        viewer: &Viewer,
        request: ListRequest,
        conditions: &RunFilter,
    ) -> Result<(Vec<RunEntry>, Option<Cursor>), StoreError> {
        let listing = viewer.readable();
        if listing.left_out > 0 {
            let left_out = listing.left_out;
            tracing::warn!(
                viewer = viewer.id(),
                left_out,
                "list without the runs of some granted channels"
            );
        }
        let visible_to = match conditions.within(listing.filter) {
            Filter::None => return Ok((Vec::new(), None)),
            Filter::All => None,
            // Lists of texts always have a JSON form; the store refuses anything else.
            filter => Some(serde_json::to_value(filter).unwrap_or_default()),
        };
        let request = ListRequest {
            visible_to,
            ..request
        };
        let ListResponse { items, next_before } = self.context.store().list(&request).await?;
        let runs = items.into_iter().map(RunEntry::of_stored);
        Ok((
            runs.filter(|run| run.is_readable(viewer)).collect(),
            next_before,
        ))
    }
}

fn summaries(runs: Vec<RunEntry>) -> Vec<RunSummary> {
    runs.into_iter().map(|run| run.summary).collect()
}

/// Returns a page of finished runs and the next page's cursor. A run's registry form wins over the
/// stored form.
fn merge(
    local: Vec<RunSummary>,
    stored: StoredPage,
    cursor: Option<&Cursor>,
    limit: usize,
) -> (Vec<RunSummary>, Option<Cursor>) {
    let StoredPage { runs: stored, next } = stored;
    let is_on_page = |run: &RunSummary| {
        cursor.is_none_or(|at| run.order() < (at.finished_at, at.id.as_str()))
            && next
                .as_ref()
                .is_none_or(|last| run.order() >= (last.finished_at, last.id.as_str()))
    };
    let mut runs: Vec<RunSummary> = local.into_iter().filter(is_on_page).collect();
    for run in stored {
        if !runs.iter().any(|known| known.id == run.id) {
            runs.push(run);
        }
    }
    runs.sort_by(|a, b| b.order().cmp(&a.order()));
    if runs.len() <= limit {
        // Hidden rows may fill the history's page before this page is full.
        return (runs, next);
    }
    runs.truncate(limit);
    let last = runs.last();
    let older = last.and_then(|run| {
        Some(Cursor {
            finished_at: run.finished?.0,
            id: run.id.clone(),
        })
    });
    (runs, older)
}

#[cfg(test)]
mod tests {
    use ars_wire::Moment;
    use serde_json::json;

    use super::*;

    const LIMIT: usize = 25;

    fn run(id: &str, finished_at: f64) -> RunSummary {
        let item = json!({"id": id, "status": "completed", "channelId": "c", "userId": "u",
            "startedAt": 1, "finishedAt": finished_at});
        RunSummary::of_stored(serde_json::from_value(item).unwrap())
    }

    /// A page behind which the history has no row.
    fn whole(runs: Vec<RunSummary>) -> StoredPage {
        StoredPage { runs, next: None }
    }

    fn ids(runs: &[RunSummary]) -> Vec<&str> {
        runs.iter().map(|run| run.id.as_str()).collect()
    }

    #[test]
    fn merge_lists_each_run_once_newest_first() {
        let stored = vec![run("b", 5.0), run("a", 5.0), run("done", 9.0)];
        let (runs, older) = merge(vec![run("done", 9.0)], whole(stored), None, LIMIT);
        assert_eq!(ids(&runs), ["done", "b", "a"]);
        assert_eq!(older, None);
    }

    #[test]
    fn pages_have_no_gap_or_overlap() {
        let all: Vec<RunSummary> = (0..60)
            .map(|n| run(&format!("r{n:02}"), f64::from(n / 2) / 4.0))
            .collect();
        let mut seen = Vec::new();
        let mut cursor: Option<Cursor> = None;
        loop {
            let at = cursor.clone();
            let mut left: Vec<RunSummary> = all
                .iter()
                .filter(|run| {
                    at.as_ref()
                        .is_none_or(|at| run.order() < (at.finished_at, at.id.as_str()))
                })
                .cloned()
                .collect();
            left.sort_by(|a, b| b.order().cmp(&a.order()));
            left.truncate(LIMIT + 1);
            let (runs, older) = merge(all[58..].to_vec(), whole(left), cursor.as_ref(), LIMIT);
            seen.extend(runs.into_iter().map(|run| run.id));
            match older {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        let expected: Vec<_> = all.iter().rev().map(|run| run.id.clone()).collect();
        assert_eq!(seen, expected);
    }

    /// Live runs' provisional records fill the history's page, so few finished runs are left on it.
    #[test]
    fn page_of_hidden_rows_has_a_successor() {
        let next = Cursor {
            finished_at: Moment::from(5),
            id: RunId::parse("hidden").unwrap(),
        };
        let stored = StoredPage {
            runs: vec![run("b", 7.0)],
            next: Some(next.clone()),
        };
        let local = vec![run("newer", 9.0), run("older", 3.0)];
        let (runs, older) = merge(local.clone(), stored, None, LIMIT);
        assert_eq!(
            (ids(&runs), older.as_ref()),
            (vec!["newer", "b"], Some(&next))
        );
        let (runs, older) = merge(local, whole(vec![run("a", 4.0)]), Some(&next), LIMIT);
        assert_eq!((ids(&runs), older), (vec!["a", "older"], None));
    }
}
