//! Who the dashboard's gate admits, to pages, command routes and metrics.
//!
//! In mode `token` the shared secret stands for the configured actor; people exchange it for a
//! session's cookie. In mode `access` a proxy names the actor. Mode `none` has no credential and
//! serves only this machine (docs/decisions/0018). See docs/reference/runs.md#viewers.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use ars_auth::{
    Actor, Denied, Secret,
    access::Identity,
    bearer,
    dashboard::{by_loopback, by_token, is_forwarding_header},
};
use ars_types::UnixMillis;
use axum::{
    extract::ConnectInfo,
    http::{HeaderMap, HeaderName, header, request::Parts},
};

use super::{access::Access, is_own, is_same_origin, session::has_session};
use crate::{server::Peer, state::HttpState};

/// The header with the access proxy's token.
const ASSERTION: HeaderName = HeaderName::from_static("cf-access-jwt-assertion");

/// The gate's mode, `dashboard.auth` in the configuration.
#[derive(Clone, Default)]
pub enum Dashboard {
    /// `none`: callers on this machine.
    #[default]
    Loopback,
    /// `token`: callers with the secret.
    Token {
        /// Secret that viewers present.
        secret: Secret,
        /// The actor, as `access:<name>`.
        actor: String,
    },
    /// `access`: callers that an access proxy authenticated.
    Access(Arc<Access>),
}

impl Dashboard {
    /// Returns the mode's name, for the log.
    pub fn mode(&self) -> &'static str {
        match self {
            Self::Loopback => "none",
            Self::Token { .. } => "token",
            Self::Access(_) => "access",
        }
    }
}

/// The dashboard part that a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Area {
    /// Everything but the command routes.
    Pages,
    /// The command routes. Only here are the access proxy's service tokens accepted.
    Api,
}

/// Returns the caller with all grants.
pub(crate) async fn authenticate(
    state: &HttpState,
    head: &Parts,
    area: Area,
) -> Result<Actor, Denied> {
    let settings = state.core.settings();
    let now = state.core.clock().now();
    let headers = &head.headers;
    let base = settings.public_base_url.as_deref();
    let (actor, is_own_write) = match &*state.dashboard {
        // A wrong bearer is not made good by a cookie. `SameSite` stops pages on other sites, not
        // on a sibling host, so a write with a session must show that a page on this service sent
        // it.
        Dashboard::Token { secret, actor }
            if !headers.contains_key(header::AUTHORIZATION)
                && has_session(headers, secret, actor, now) =>
        {
            (Actor::browser(actor), is_same_origin(headers, base))
        }
        dashboard => {
            let actor = match dashboard {
                Dashboard::Loopback => local(state, head, base)?,
                Dashboard::Token { secret, actor } => by_secret(state, secret, actor, head, now)?,
                Dashboard::Access(access) => by_access(access, headers, area, now).await?,
            };
            // In every mode a browser may prove who its user is without the user's part. The
            // command routes check the origin later, because their response has a body.
            (actor, area == Area::Api || is_own(headers, base))
        }
    };
    if !head.method.is_safe() && !is_own_write {
        return Err(Denied::CrossOrigin);
    }
    Ok(settings.identify(&actor))
}

/// Admits a caller that holds the secret. Too many wrong bearers limit those of their peer.
fn by_secret(
    state: &HttpState,
    secret: &Secret,
    actor: &str,
    head: &Parts,
    now: UnixMillis,
) -> Result<Actor, Denied> {
    let presented =
        bearer(head.headers.get_all(header::AUTHORIZATION)).ok_or(Denied::BadCredential)?;
    let peer = Peer::of_request(head, state.peer_header.as_ref());
    state
        .bearers
        .begin(peer, now)
        .map_err(|wait_s| Denied::TooManyAttempts { wait_s })?;
    let admitted = by_token(Some(presented), secret, actor)?;
    state.bearers.prove(peer, now);
    Ok(admitted)
}

/// Admits the identity in the access proxy's single header.
pub(super) async fn by_access(
    access: &Access,
    headers: &HeaderMap,
    area: Area,
    now: UnixMillis,
) -> Result<Actor, Denied> {
    let mut values = headers.get_all(ASSERTION).iter();
    let (Some(token), None) = (values.next(), values.next()) else {
        return Err(Denied::BadCredential);
    };
    let token = token.to_str().map_err(|_| Denied::BadCredential)?;
    let identity = access.identify(token, now).await?;
    if matches!(identity, Identity::Service(_)) && area != Area::Api {
        return Err(Denied::ServiceToken);
    }
    Ok(identity.actor())
}

fn local(state: &HttpState, head: &Parts, public_base_url: Option<&str>) -> Result<Actor, Denied> {
    let peer = head
        .extensions
        .get::<ConnectInfo<SocketAddr>>()
        .map(|peer| peer.0.ip());
    let host = head
        .headers
        .get(header::HOST)
        .map(|host| host.to_str().unwrap_or_default());
    // A local proxy connects from this machine, on behalf of callers elsewhere.
    let is_peer_header = |name: &HeaderName| state.peer_header.as_ref() == Some(name);
    if head
        .headers
        .keys()
        .any(|name| is_forwarding_header(name.as_str()) || is_peer_header(name))
    {
        return Err(Denied::Forwarded);
    }
    by_peer(peer, host, public_base_url)
}

/// Admits a caller on this machine. An unknown peer is rejected.
///
/// The `Host` header must name this machine too. Otherwise another site's page could read the run
/// pages through a name that resolves to the loopback address.
fn by_peer(
    peer: Option<IpAddr>,
    host: Option<&str>,
    public_base_url: Option<&str>,
) -> Result<Actor, Denied> {
    let actor = by_loopback(peer.ok_or(Denied::NotLoopback)?, public_base_url)?;
    if let Some(host) = host {
        by_loopback(
            IpAddr::from([127, 0, 0, 1]),
            Some(&format!("http://{host}")),
        )?;
    }
    Ok(actor)
}

#[cfg(test)]
mod tests {
    use ars_auth::Viewer;
    use ars_types::Visibility;

    use super::*;

    fn admitted(peer: Option<&str>, host: Option<&str>, url: Option<&str>) -> bool {
        by_peer(peer.map(|peer| peer.parse().unwrap()), host, url).is_ok()
    }

    #[test]
    fn only_this_machine_by_its_name_is_admitted() {
        let here = Some("127.0.0.1");
        for host in [
            None,
            Some("localhost:3000"),
            Some("127.0.0.1"),
            Some("[::1]:8080"),
            Some("LOCALHOST"),
        ] {
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
    fn local_viewer_reads_public_and_own_runs() {
        let viewer = Viewer::new(by_peer(Some(IpAddr::from([127, 0, 0, 1])), None, None).unwrap());
        assert!(viewer.may_read("slack:C1", Visibility::Public, "slack:U1"));
        assert!(viewer.may_read("http:default", Visibility::Machine, "access:loopback"));
        for hidden in [Visibility::Machine, Visibility::Private, Visibility::Dm] {
            assert!(
                !viewer.may_read("http:default", hidden, "http:ann"),
                "{hidden}"
            );
        }
    }
}
