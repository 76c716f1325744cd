//! The actor behind a dashboard request in the modes `none` and `token`.
//!
//! Not here: mode `access` (`access`) and the gated paths.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ars_types::Platform;

use crate::{
    Actor, Denied, Secret,
    gate::{self, Hashed, Head, Rules},
};

/// Proxy headers. A request that carries one may come from another machine.
const FORWARDING: [&str; 9] = [
    "forwarded",
    "via",
    "x-real-ip",
    "cf-connecting-ip",
    "true-client-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "fastly-client-ip",
    "x-original-forwarded-for",
];
/// Prefix for the other proxy headers.
const X_FORWARDED: &str = "x-forwarded";

/// Returns whether a header shows that a proxy forwarded the request. Underscores count as hyphens.
pub fn is_forwarding_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('_', "-");
    name.starts_with(X_FORWARDED) || FORWARDING.contains(&name.as_str())
}

/// Authenticates in mode `none`: only callers on this machine, and only for a local deployment.
///
/// `peer` is the socket's address, never that of a forwarding header. A blank base URL counts as
/// unset.
pub fn by_loopback(peer: IpAddr, public_base_url: Option<&str>) -> Result<Actor, Denied> {
    if !is_loopback(peer) {
        return Err(Denied::NotLoopback);
    }
    match public_base_url.map(str::trim).filter(|url| !url.is_empty()) {
        Some(url) if !names_this_machine(url) => Err(Denied::PublicBaseUrl),
        Some(_) | None => Ok(Actor::browser(&Platform::Access.id("loopback"))),
    }
}

/// Authenticates in mode `token`: the secret's holder is the configured actor (`access:<name>`).
pub fn by_token(presented: Option<&str>, secret: &Secret, actor_id: &str) -> Result<Actor, Denied> {
    let credentials = Hashed(secret);
    let rules = Rules::new(gate::order::DASHBOARD, &credentials);
    let admitted = gate::admit(
        &rules,
        &Head {
            presented,
            ..Head::default()
        },
    );
    admitted
        .map(|_| Actor::browser(actor_id))
        .map_err(|_| Denied::BadCredential)
}

/// Accepts the three addresses in the contract, not the whole of 127.0.0.0/8.
fn is_loopback(peer: IpAddr) -> bool {
    match peer {
        IpAddr::V4(address) => address == Ipv4Addr::LOCALHOST,
        IpAddr::V6(address) => {
            address == Ipv6Addr::LOCALHOST || address == Ipv4Addr::LOCALHOST.to_ipv6_mapped()
        }
    }
}

/// Fails closed: any URL but a plain `http(s)://<this machine>` names another machine.
fn names_this_machine(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else {
        return false;
    };
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return false;
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let (host, port) = match authority.strip_prefix("[::1]") {
        Some(port) => ("[::1]", port),
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let host_is_ours = ["localhost", "127.0.0.1", "[::1]"]
        .iter()
        .any(|name| host.eq_ignore_ascii_case(name));
    let port_is_plain = port.is_empty()
        || port
            .strip_prefix(':')
            .is_some_and(|p| p.bytes().all(|b| b.is_ascii_digit()));
    host_is_ours && port_is_plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(peer: &str, url: Option<&str>) -> Result<String, Denied> {
        by_loopback(peer.parse().unwrap(), url).map(|actor| actor.id)
    }

    #[test]
    fn the_machine_itself_is_the_loopback_actor() {
        for peer in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(at(peer, None), Ok("access:loopback".into()), "{peer}");
        }
        let actor = by_loopback(IpAddr::V4(Ipv4Addr::LOCALHOST), None).unwrap();
        assert!(actor.grants.actions.contains("runs:read"));
        assert!(!actor.grants.actions.contains("runs:write"));
    }

    #[test]
    fn every_other_address_is_refused() {
        for peer in [
            "127.0.0.2",
            "10.0.0.1",
            "0.0.0.0",
            "::",
            "::2",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
        ] {
            assert_eq!(at(peer, None), Err(Denied::NotLoopback), "{peer}");
        }
    }

    #[test]
    fn only_a_local_base_url_is_served() {
        for url in
            "| |http://localhost|https://LOCALHOST:8080/x|http://127.0.0.1:3000|http://[::1]:1/?q"
                .split('|')
        {
            assert!(at("127.0.0.1", Some(url)).is_ok(), "{url}");
        }
        for url in "https://bot.example.com http://localhost.example.com http://localhost@example.com \
            http://localhost:80@example.com http://127.0.0.1.example.com http://example.com/localhost \
            http://example.com?http://localhost http://[::1].example.com http://[::2] localhost \
            ftp://localhost http://"
            .split(' ')
        {
            assert_eq!(at("127.0.0.1", Some(url)), Err(Denied::PublicBaseUrl), "{url}");
        }
    }

    #[test]
    fn headers_of_proxies_are_known_in_any_spelling() {
        for name in
            "Forwarded Via X-Real-IP x_real_ip CF-Connecting-IP X-Forwarded-For X-FORWARDED-HOST x-forwarded-proto \
             True-Client-IP X-Client-IP X-Cluster-Client-IP Fastly-Client-IP X-Original-Forwarded-For"
                .split(' ')
        {
            assert!(is_forwarding_header(name), "{name}");
        }
        for name in ["host", "cf-access-jwt-assertion", "x-real", "accept"] {
            assert!(!is_forwarding_header(name), "{name}");
        }
    }

    #[test]
    fn the_token_resolves_to_the_configured_actor() {
        let secret = Secret::parse(Some("dash".into())).unwrap();
        assert_eq!(
            by_token(Some("dash"), &secret, "access:ops").unwrap().id,
            "access:ops"
        );
        for presented in [None, Some(""), Some("das"), Some("dashh"), Some("DASH")] {
            assert_eq!(
                by_token(presented, &secret, "access:ops"),
                Err(Denied::BadCredential)
            );
        }
    }
}
