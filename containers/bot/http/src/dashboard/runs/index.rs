//! `GET /runs`: runs by status and filters; with `stream=1` the list's changes.

use ars_auth::Viewer;
use ars_bot_core::queries::{RunFilter, Selection};
use ars_types::RunId;
use ars_wire::{Moment, runs::Cursor};
use axum::{Extension, extract::State, http::Uri, response::Response};

use super::{
    feed,
    listing::{Listing, Part},
    page::IndexPage,
};
use crate::{
    dashboard::shell::{Nav, Section},
    params,
    server::{Closing, Streams},
    state::HttpState,
};

/// Finished rows per page.
const PAGE_ROWS: usize = 25;
/// Maximum filter length in characters. No name in a record is longer.
const FILTER_MAX_CHARS: usize = 200;

/// Answers with the list, as a page or as a stream.
pub(crate) async fn index(
    State(state): State<HttpState>,
    Extension(viewer): Extension<Viewer>,
    closing: Option<Extension<Closing>>,
    streams: Streams,
    uri: Uri,
) -> Response {
    let listing = Listing {
        part: part(&uri),
        filter: filter(&uri),
    };
    if params::query(&uri, "stream").as_deref() == Some("1") {
        let closing = closing.map(|Extension(closing)| closing);
        return streams.open(|permit| feed::feed(&state, viewer, listing.filter, closing, permit));
    }
    let selection = match (listing.part, cursor(&uri)) {
        (Part::Active, _) => Selection::Active,
        (Part::All, None) => Selection::All,
        (Part::Finished, None) => Selection::Finished,
        (Part::All | Part::Finished, Some(cursor)) => Selection::After(cursor),
    };
    let page = state
        .core
        .queries()
        .list(&viewer, selection, &listing.filter, PAGE_ROWS)
        .await;
    let nav = Nav::new(&state, Section::Runs);
    IndexPage::new(nav, &listing, page, state.core.clock().now()).into_response()
}

/// Returns which list part is shown. `all=1` is an older spelling for `status=all`.
fn part(uri: &Uri) -> Part {
    match params::query(uri, "status").as_deref() {
        Some("finished") => Part::Finished,
        Some("all") => Part::All,
        _ if params::query(uri, "all").as_deref() == Some("1") => Part::All,
        _ => Part::Active,
    }
}

/// Returns the filters. Empty and overlong filters are ignored.
fn filter(uri: &Uri) -> RunFilter {
    let value = |key| {
        params::query(uri, key)
            .filter(|value| !value.is_empty() && value.chars().count() <= FILTER_MAX_CHARS)
    };
    RunFilter {
        agent: value("agent"),
        channel: value("channel"),
        repo: value("repo"),
        user: value("user"),
    }
}

/// Returns both cursor halves, or `None`: a malformed cursor is ignored.
fn cursor(uri: &Uri) -> Option<Cursor> {
    let finished_at =
        Moment::parse(&params::query(uri, "before")?).filter(|at| *at >= Moment::from(0))?;
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
            assert_eq!(
                cursor(&format!("/runs{query}").parse().unwrap()),
                None,
                "{query}"
            );
        }
        for before in ["5", "5.25"] {
            let finished_at = Moment::parse(before).unwrap();
            let expected = Cursor {
                finished_at,
                id: RunId::parse("a").unwrap(),
            };
            let uri = format!("/runs?before={before}&beforeId=a").parse().unwrap();
            assert_eq!(cursor(&uri), Some(expected));
        }
    }

    #[test]
    fn filters_are_read_from_the_query() {
        let uri = "/runs?status=finished&agent=coding&repo=acme%2Fapp&user="
            .parse()
            .unwrap();
        let expected = RunFilter {
            agent: Some("coding".into()),
            repo: Some("acme/app".into()),
            ..RunFilter::default()
        };
        assert_eq!((part(&uri), filter(&uri)), (Part::Finished, expected));
        let long: Uri = format!("/runs?all=1&agent={}", "a".repeat(FILTER_MAX_CHARS + 1))
            .parse()
            .unwrap();
        assert_eq!(
            (part(&long), filter(&long)),
            (Part::All, RunFilter::default())
        );
    }
}
