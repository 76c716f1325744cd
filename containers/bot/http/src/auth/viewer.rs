//! The gate of the run pages, in the modes `none` and `token`.
//!
//! Mode `none` has no credential and serves this machine only. Its user can read the store's file and the process's
//! memory anyway, so the viewer is granted every channel. In mode `token` the one secret stands for the one configured
//! actor with its grants. Not here: mode `access`.

use std::net::{IpAddr, SocketAddr};

use ars_auth::{
    Actor, Denied, Grants, Secret, Set, Viewer, bearer,
    dashboard::{by_loopback, by_token},
    grants::granted,
};
use axum::{
    extract::{ConnectInfo, Request, State},
    http::{StatusCode, header},
    middleware::Next,
    response::Response,
};

use crate::{respond, state::HttpState};

/// The mode of the gate, `dashboard.auth` in the configuration.
#[derive(Clone, Default)]
pub enum Dashboard {
    /// `none`: callers on this machine.
    #[default]
    Loopback,
    /// `token`: callers with the secret.
    Token {
        /// The secret.
        secret: Secret,
        /// The actor, as `access:<name>`.
        actor: String,
    },
}

impl Dashboard {
    /// Returns the mode's name, for the log.
    pub fn mode(&self) -> &'static str {
        match self {
            Self::Loopback => "none",
            Self::Token { .. } => "token",
        }
    }
}

/// Adds the viewer to the request, or answers 403.
pub(crate) async fn gate(State(state): State<HttpState>, mut request: Request, next: Next) -> Response {
    match known(&state, &request) {
        Ok(actor) => {
            let actor = granted(&actor, &state.core.settings().grants);
            request.extensions_mut().insert(Viewer::new(actor));
            next.run(request).await
        }
        Err(denied) => refused("runs", denied),
    }
}

/// Returns the answer to a caller that may not read the metrics. They share the gate of the run pages.
pub(crate) fn metrics_refusal(state: &HttpState, request: &Request) -> Option<Response> {
    known(state, request).err().map(|denied| refused("metrics", denied))
}

fn known(state: &HttpState, request: &Request) -> Result<Actor, Denied> {
    match &*state.dashboard {
        Dashboard::Loopback => local(state, request),
        Dashboard::Token { secret, actor } => {
            by_token(bearer(request.headers().get_all(header::AUTHORIZATION)), secret, actor)
        }
    }
}

fn local(state: &HttpState, request: &Request) -> Result<Actor, Denied> {
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip());
    let host = request.headers().get(header::HOST).map(|host| host.to_str().unwrap_or_default());
    admit(peer, host, state.core.settings().public_base_url.as_deref())
}

fn refused(route: &'static str, reason: Denied) -> Response {
    tracing::info!(route, %reason, "viewer refused");
    respond::plain(StatusCode::FORBIDDEN, "Forbidden\n")
}

/// Admits a caller on this machine. An unknown peer is rejected.
///
/// The `Host` header must name this machine too. Otherwise a page of another site could read the run pages through a name
/// that resolves to the loopback address.
fn admit(peer: Option<IpAddr>, host: Option<&str>, public_base_url: Option<&str>) -> Result<Actor, Denied> {
    let actor = by_loopback(peer.ok_or(Denied::NotLoopback)?, public_base_url)?;
    if let Some(host) = host {
        by_loopback(IpAddr::from([127, 0, 0, 1]), Some(&format!("http://{host}")))?;
    }
    Ok(actor.with(&Grants { channels: Set::All, ..Grants::default() }))
}

#[cfg(test)]
mod tests {
    use ars_types::Visibility;

    use super::*;

    fn admitted(peer: Option<&str>, host: Option<&str>, url: Option<&str>) -> bool {
        admit(peer.map(|peer| peer.parse().unwrap()), host, url).is_ok()
    }

    #[test]
    fn only_this_machine_by_its_name_is_admitted() {
        let here = Some("127.0.0.1");
        for host in [None, Some("localhost:3000"), Some("127.0.0.1"), Some("[::1]:8080"), Some("LOCALHOST")] {
            assert!(admitted(here, host, None), "{host:?}");
        }
        assert!(admitted(Some("::1"), None, Some("http://localhost:3000")));
        for (peer, host, url) in [
            (None, None, None),
            (Some("10.0.0.7"), Some("localhost"), None),
            (here, Some("rebound.example.com"), None),
            (here, Some("localhost.example.com"), None),
            (here, Some(""), Some("https://bot.example.com")),
            (here, Some("localhost"), Some("https://bot.example.com")),
            (here, Some("localhost@example.com"), None),
        ] {
            assert!(!admitted(peer, host, url), "{peer:?} {host:?} {url:?}");
        }
    }

    #[test]
    fn local_viewer_reads_every_run() {
        let viewer = Viewer::new(admit(Some(IpAddr::from([127, 0, 0, 1])), None, None).unwrap());
        assert!(viewer.may_read("http:default", Visibility::Machine, "http:ann"));
        assert!(!viewer.may_stop("http:default", Visibility::Machine));
    }
}
