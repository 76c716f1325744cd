//! `GET /runs`: live runs; with `all=1` finished ones too; with `stream=1` the changes.

use ars_auth::Viewer;
use ars_bot_core::queries::Selection;
use ars_types::RunId;
use ars_wire::{Moment, runs::Cursor};
use axum::{Extension, extract::State, http::Uri, response::Response};

use super::{feed, pages::IndexPage};
use crate::{params, server::Closing, state::HttpState};

/// Finished rows of one page.
const PAGE_ROWS: usize = 25;

/// Answers with the list in one of its three forms.
pub(crate) async fn index(
    State(state): State<HttpState>,
    Extension(viewer): Extension<Viewer>,
    closing: Option<Extension<Closing>>,
    uri: Uri,
) -> Response {
    let is_set = |key| params::query(&uri, key).as_deref() == Some("1");
    if is_set("stream") {
        return feed::feed(&state, viewer, closing.map(|Extension(closing)| closing));
    }
    let is_all = is_set("all");
    let selection = match (is_all, cursor(&uri)) {
        (false, _) => Selection::Active,
        (true, None) => Selection::All,
        (true, Some(cursor)) => Selection::After(cursor),
    };
    let page = state.core.queries().list(&viewer, selection, PAGE_ROWS).await;
    IndexPage::new(is_all, page, state.core.clock().now()).into_response()
}

/// Returns both halves of the cursor, or `None`: a malformed one is ignored.
fn cursor(uri: &Uri) -> Option<Cursor> {
    let finished_at = Moment::parse(&params::query(uri, "before")?).filter(|at| *at >= Moment::from(0))?;
    let id = RunId::parse(params::query(uri, "beforeId")?).ok()?;
    Some(Cursor { finished_at, id })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_cursor_is_ignored() {
        for query in "|?before=5|?beforeId=a|?before=x&beforeId=a|?before=-1&beforeId=a|\
            ?before=5&beforeId=a%20b"
            .split('|')
        {
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
