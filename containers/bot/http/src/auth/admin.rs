//! Admin route gate: method, tokens, bearer, grant.

use ars_auth::{
    Actor, Ingress, Rejection, Surface, TokenEntry, TokenMap, bearer,
    gate::{self, Credentials, Head, Rules, order},
};
use ars_wire::admin::ACTION;
use axum::{
    http::{Method, header, request::Parts},
    response::Response,
};

use super::gate::limited;
use crate::{respond, state::HttpState};

/// Returns the answer to a rejected request.
pub(crate) fn reject(rejection: Rejection) -> Response {
    respond::rejected(Surface::Admin, rejection)
}

/// Admits the holder of a bearer with the permission, and returns the holder's subject.
pub(crate) fn by_bearer(state: &HttpState, head: &Parts) -> Result<String, Rejection> {
    let may = |entry: &TokenEntry| may(state, entry);
    let rules = Rules::new(order::ADMIN, &*state.tokens).with_scope(&may);
    let presented = bearer(head.headers.get_all(header::AUTHORIZATION));
    let of_gate = Head {
        method: head.method.as_str(),
        presented,
        content_length: None,
    };
    limited(state, head, || {
        gate::admit(&rules, &of_gate).map(|admitted| admitted.holder.subject.clone())
    })
}

/// Admits a subject that the edge has authenticated; `None` stands for an unreadable subject.
///
/// The edge does not forward the token, so each of the subject's tokens needs the permission.
pub(crate) fn by_subject(
    state: &HttpState,
    method: &Method,
    subject: Option<&str>,
) -> Result<String, Rejection> {
    let subjects = Subjects(&state.tokens);
    let may = |subject: &str| {
        let mut entries = state
            .tokens
            .entries_of(subject)
            .map(|entry| may(state, entry))
            .peekable();
        entries.peek().is_some() && entries.all(|may| may)
    };
    let rules = Rules::new(order::ADMIN, &subjects).with_scope(&may);
    let head = Head {
        method: method.as_str(),
        presented: subject,
        content_length: None,
    };
    gate::admit(&rules, &head).map(|admitted| admitted.holder.to_owned())
}

/// The edge's header as a credential: only the edge can set it, so each subject is authenticated.
struct Subjects<'t>(&'t TokenMap);

impl Credentials for Subjects<'_> {
    type Holder = str;

    fn is_configured(&self) -> bool {
        self.0.is_configured()
    }

    fn authenticate<'a>(&'a self, presented: &'a str) -> Option<&'a str> {
        Some(presented)
    }
}

fn may(state: &HttpState, entry: &TokenEntry) -> bool {
    let actor = Actor::service(Ingress::Http, entry);
    let actor = state.core.settings().identify(&actor);
    actor.grants.actions.contains(ACTION)
}
