//! `GET /residents` and `GET /residents/<owner>/<name>`: all residents, or a single resident with
//! the trees. With `stream=1` both answer with the change feed.

use ars_auth::Viewer;
use ars_bot_core::commands::Caller;
use ars_types::RepoSlug;
use axum::{
    extract::{FromRequestParts as _, Request, State},
    http::{HeaderValue, Method, StatusCode, header, request::Parts},
    response::Response,
};

use super::{feed, fleet::FleetPage, resident::ResidentPage};
use crate::{
    dashboard::{
        gate,
        shell::{Nav, REPO_LIST, Section, add_headers},
    },
    params, respond,
    route::Spelling,
    server::{Closing, Streams},
    state::HttpState,
    surfaces::health,
};

const ABSENT: &str =
    "This service has no resident environments: execution.resident.baseUrl is not configured.\n";
const NOT_ONBOARDED: &str =
    "This repository has no resident. Add one with the command `repo onboard`.\n";

/// The page that a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// The list of all residents.
    Fleet,
    /// A single resident's page.
    One(RepoSlug),
}

impl Place {
    /// Returns the page for the segments after the first.
    fn parse(segments: &[&str]) -> Option<Self> {
        match segments {
            [] => Some(Self::Fleet),
            [owner, name] => RepoSlug::parse(format!("{owner}/{name}"))
                .ok()
                .map(Self::One),
            _ => None,
        }
    }
}

/// Answers a request at or below `/residents`, in any spelling.
/// An admitted caller gets the health probe if the path is no page, such as a malformed slug.
pub(crate) async fn residents(State(state): State<HttpState>, request: Request) -> Response {
    let (mut head, _) = request.into_parts();
    let path = Spelling::parse(head.uri.path());
    let Some(place) = Place::parse(path.segments().get(1..).unwrap_or_default()) else {
        return match gate::admit(&state, &head, "residents").await {
            Ok(_) => health::probe(State(state)).await,
            Err(refused) => refused,
        };
    };
    let mut response = answer(&state, &mut head, place).await;
    add_headers(&state, &mut response);
    response
}

async fn answer(state: &HttpState, head: &mut Parts, place: Place) -> Response {
    let actor = match gate::admit(state, head, "residents").await {
        Ok(actor) => actor,
        Err(refused) => return refused,
    };
    if ![Method::GET, Method::HEAD].contains(&head.method) {
        return get_only();
    }
    let queries = state.core.queries();
    if !queries.has_residents() {
        return respond::plain(StatusCode::SERVICE_UNAVAILABLE, ABSENT);
    }
    if state
        .core
        .commands()
        .admit(&Caller::dashboard(actor.clone()), REPO_LIST)
        .is_err()
    {
        return respond::plain(StatusCode::FORBIDDEN, "Forbidden\n");
    }
    let viewer = Viewer::new(actor);
    if params::query(&head.uri, "stream").as_deref() == Some("1") {
        let closing = head.extensions.get::<Closing>().cloned();
        let Ok(streams) = Streams::from_request_parts(head, state).await;
        return streams.open(|permit| feed::feed(state, viewer, closing, permit));
    }
    let fleet = match queries.fleet(&viewer).await {
        Ok(fleet) => fleet,
        Err(error) => {
            tracing::error!(error = %error, "residents not shown");
            let text = format!("The residents cannot be shown: {error}\n");
            return respond::with_type(StatusCode::BAD_GATEWAY, "text/plain; charset=utf-8", text);
        }
    };
    let now = state.core.clock().now();
    let nav = Nav::new(state, Section::Residents);
    match place {
        Place::Fleet => FleetPage::response(nav, &fleet, now),
        Place::One(slug) => ResidentPage::response(nav, &fleet, &slug, now)
            .unwrap_or_else(|| respond::plain(StatusCode::NOT_FOUND, NOT_ONBOARDED)),
    }
}

fn get_only() -> Response {
    let mut response = respond::plain(StatusCode::METHOD_NOT_ALLOWED, "GET only\n");
    response
        .headers_mut()
        .insert(header::ALLOW, HeaderValue::from_static("GET,HEAD"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_slugs_are_pages() {
        assert_eq!(Place::parse(&[]), Some(Place::Fleet));
        assert!(
            matches!(Place::parse(&["acme", "app"]), Some(Place::One(slug)) if slug.as_str() == "acme/app")
        );
        for segments in [
            &["acme"][..],
            &["acme", "app", "x"],
            &["-a", "b"],
            &["a", " "],
        ] {
            assert_eq!(Place::parse(segments), None, "{segments:?}");
        }
    }
}
