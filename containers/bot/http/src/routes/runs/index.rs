//! `GET /runs`: active runs; with `all=1` finished ones too; with `stream=1` the changes as they happen.

use ars_bot_ports::StoreError;
use ars_types::{RunId, visible_to::Filter};
use ars_wire::{
    Moment,
    runs::{Cursor, ListRequest},
};
use axum::{Extension, extract::State, http::Uri, response::Response};

use super::feed;
use crate::{
    pages::{IndexPage, Row},
    params,
    serve::Closing,
    state::HttpState,
    viewer::Viewer,
};

/// Finished rows of one page (bot supplement section 11.2).
const PAGE: usize = 25;

/// The index in one of its three forms.
pub(crate) async fn index(
    State(state): State<HttpState>,
    Extension(viewer): Extension<Viewer>,
    closing: Option<Extension<Closing>>,
    uri: Uri,
) -> Response {
    let asked = |key| params::query(&uri, key).as_deref() == Some("1");
    if asked("stream") {
        return feed::feed(&state, viewer, closing.map(|Extension(closing)| closing));
    }
    let (active, done) = registry_rows(&state, &viewer);
    if !asked("all") {
        return IndexPage::active(active, state.core.clock().now()).into_response();
    }
    all(&state, &viewer, cursor(&uri), active, done).await
}

/// Both halves of the cursor, or none: a malformed one is ignored.
fn cursor(uri: &Uri) -> Option<Cursor> {
    let finished_at = Moment::parse(&params::query(uri, "before")?).filter(|at| *at >= Moment::from(0))?;
    let id = RunId::parse(params::query(uri, "beforeId")?).ok()?;
    Some(Cursor { finished_at, id })
}

/// The registry's runs that the viewer may read, newest first: the active ones and the finished ones.
fn registry_rows(state: &HttpState, viewer: &Viewer) -> (Vec<Row>, Vec<Row>) {
    let runs = state.core.registry().list();
    let readable = runs
        .iter()
        .filter(|run| viewer.may_read(&run.facts.channel_id, run.facts.visibility, &run.facts.user_id));
    readable.map(Row::of_live).partition(|row| row.finished_at.is_none())
}

async fn all(
    state: &HttpState,
    viewer: &Viewer,
    cursor: Option<Cursor>,
    active: Vec<Row>,
    done: Vec<Row>,
) -> Response {
    let listed = stored(state, viewer, cursor.as_ref(), active.len()).await;
    let store_failed = listed.is_err();
    let stored = listed.unwrap_or_else(|error| {
        tracing::error!(error = %error, "run history not listed");
        Vec::new()
    });
    let is_first = cursor.is_none();
    let (finished, older) = merge(&active, done, stored, cursor.as_ref());
    let active = if is_first { active } else { Vec::new() };
    IndexPage::all(active, finished, older, store_failed, state.core.clock().now()).into_response()
}

/// The stored runs behind the cursor that the viewer may read. The store picks them out, so that a page is full however
/// many others there are; what it gives is held against the rules once more.
async fn stored(
    state: &HttpState,
    viewer: &Viewer,
    cursor: Option<&Cursor>,
    active: usize,
) -> Result<Vec<Row>, StoreError> {
    let visible_to = match viewer.readable() {
        Filter::None => return Ok(Vec::new()),
        Filter::All => None,
        // Lists of texts always have a JSON form; the store refuses what had none.
        filter => Some(serde_json::to_value(filter).unwrap_or_default()),
    };
    // One more than a page tells whether there is an older one; runs that are live here have a provisional row.
    let limit = u32::try_from(PAGE + 1 + active).unwrap_or(u32::MAX).min(LIST_MAX);
    let request = ListRequest {
        limit: Some(limit),
        before: cursor.map(|cursor| cursor.finished_at),
        before_id: cursor.map(|cursor| cursor.id.clone()),
        visible_to,
        ..ListRequest::default()
    };
    let page = state.core.store().list(&request).await?;
    Ok(page.items.into_iter().filter_map(Row::of_stored).filter(|row| row.is_readable(viewer)).collect())
}

/// Most rows the store gives at once (document 2 section 4.3).
const LIST_MAX: u32 = 200;

/// One page of finished rows, newest first, and where the next one begins. A run that is both in the registry and
/// stored is shown as the registry knows it.
fn merge(
    active: &[Row],
    done: Vec<Row>,
    stored: Vec<Row>,
    cursor: Option<&Cursor>,
) -> (Vec<Row>, Option<Cursor>) {
    let is_after = |row: &Row| cursor.is_none_or(|at| row.order() < (at.finished_at, at.id.as_str()));
    let mut rows: Vec<Row> = done.into_iter().filter(is_after).collect();
    for row in stored {
        if !active.iter().chain(&rows).any(|known| known.id == row.id) {
            rows.push(row);
        }
    }
    rows.sort_by(|a, b| b.order().cmp(&a.order()));
    let has_more = rows.len() > PAGE;
    rows.truncate(PAGE);
    let last = rows.last().filter(|_| has_more);
    let older = last.and_then(|row| Some(Cursor { finished_at: row.finished_at?, id: row.id.clone() }));
    (rows, older)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(id: &str, finished_at: f64) -> Row {
        let item = json!({"id": id, "status": "completed", "channelId": "c", "userId": "u",
            "startedAt": 1, "finishedAt": finished_at});
        Row::of_stored(item).unwrap()
    }

    fn ids(rows: &[Row]) -> Vec<&str> {
        rows.iter().map(|row| row.id.as_str()).collect()
    }

    #[test]
    fn rows_are_newest_first_and_each_run_once() {
        let active = [row("live", 1.0)];
        let stored = vec![row("b", 5.0), row("a", 5.0), row("live", 1.0), row("done", 9.0)];
        let (rows, older) = merge(&active, vec![row("done", 9.0)], stored, None);
        assert_eq!(ids(&rows), ["done", "b", "a"]);
        assert_eq!(older, None);
    }

    #[test]
    fn pages_follow_each_other_without_gap_or_overlap() {
        let all: Vec<Row> = (0..60).map(|n| row(&format!("r{n:02}"), f64::from(n / 2) / 4.0)).collect();
        let mut seen = Vec::new();
        let mut cursor: Option<Cursor> = None;
        loop {
            let at = cursor.clone();
            let mut left: Vec<Row> = all
                .iter()
                .filter(|row| at.as_ref().is_none_or(|at| row.order() < (at.finished_at, at.id.as_str())))
                .cloned()
                .collect();
            left.sort_by(|a, b| b.order().cmp(&a.order()));
            left.truncate(PAGE + 1);
            let (rows, older) = merge(&[], all[58..].to_vec(), left, cursor.as_ref());
            seen.extend(rows.into_iter().map(|row| row.id));
            match older {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        let expected: Vec<_> = all.iter().rev().map(|row| row.id.clone()).collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_malformed_cursor_is_ignored() {
        for query in [
            "",
            "?before=5",
            "?beforeId=a",
            "?before=x&beforeId=a",
            "?before=-1&beforeId=a",
            "?before=5&beforeId=a%20b",
        ] {
            assert_eq!(cursor(&format!("/runs{query}").parse().unwrap()), None, "{query}");
        }
        for before in ["5", "5.25"] {
            let finished_at = Moment::parse(before).unwrap();
            let expected = Cursor { finished_at, id: RunId::parse("a").unwrap() };
            let uri = format!("/runs?before={before}&beforeId=a").parse().unwrap();
            assert_eq!(cursor(&uri), Some(expected));
        }
    }
}
