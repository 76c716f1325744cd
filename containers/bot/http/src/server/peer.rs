//! A request's peer: failed credentials, connections and streams count together per peer.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use axum::{
    extract::ConnectInfo,
    http::{HeaderMap, HeaderName, request::Parts},
};

/// IPv6 address bits that name a network. The same party has all the addresses in a network.
const NETWORK_MASK: u128 = !0 << 64;

/// An address, or an IPv6 network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Peer(IpAddr);

impl Peer {
    /// Returns the peer that the trusted proxy states in a header, else that of the socket.
    ///
    /// A proxy appends to a list, so the last address is the proxy's own statement.
    pub(crate) fn of_request(head: &Parts, header: Option<&HeaderName>) -> Self {
        let socket = || {
            head.extensions
                .get::<ConnectInfo<SocketAddr>>()
                .map(|peer| peer.0.ip())
        };
        Self::stated(&head.headers, header, || {
            socket().unwrap_or(Ipv6Addr::UNSPECIFIED.into())
        })
    }

    /// Returns the peer in the header, else the peer at the socket's address.
    pub(crate) fn stated(
        headers: &HeaderMap,
        header: Option<&HeaderName>,
        socket: impl FnOnce() -> IpAddr,
    ) -> Self {
        let stated = header.and_then(|name| headers.get_all(name).iter().next_back());
        let last =
            stated.and_then(|value| value.to_str().ok()?.rsplit(',').next()?.trim().parse().ok());
        Self::at(last.unwrap_or_else(socket))
    }

    /// Returns the peer at an address.
    pub(crate) fn at(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & NETWORK_MASK).into(),
            address @ IpAddr::V4(_) => address,
        })
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn peer(stated: &[&str], header: Option<&HeaderName>) -> Peer {
        let request = stated.iter().fold(Request::builder(), |request, value| {
            request.header("x-peer", *value)
        });
        let (mut head, ()) = request.body(()).unwrap().into_parts();
        head.extensions
            .insert(ConnectInfo(SocketAddr::from(([10, 0, 0, 1], 4000))));
        Peer::of_request(&head, header)
    }

    #[test]
    fn only_a_trusted_header_states_the_peer() {
        let at = |text: &str| Peer::at(text.parse().unwrap());
        let name = HeaderName::from_static("x-peer");
        assert_eq!(peer(&["192.0.2.7"], None), at("10.0.0.1"));
        for (stated, expected) in [
            (&["192.0.2.7"][..], "192.0.2.7"),
            (&["198.51.100.1, 192.0.2.7"], "192.0.2.7"),
            (&["198.51.100.1", "192.0.2.7"], "192.0.2.7"),
            (&["::ffff:192.0.2.7"], "192.0.2.7"),
            (&["unknown"], "10.0.0.1"),
            (&[], "10.0.0.1"),
        ] {
            assert_eq!(peer(stated, Some(&name)), at(expected), "{stated:?}");
        }
        assert_eq!(at("2001:db8::1"), at("2001:db8::ffff:1"));
        assert_ne!(at("2001:db8::1"), at("2001:db8:0:1::1"));
    }
}
