//! Connects to allowed destinations, directly or through the service's proxy.

use std::{io, net::IpAddr};

use hyper::header::HeaderValue;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

use super::{
    answer::Problem,
    decide::{Addresses, Destination, Protocol, Refused},
    limits::{CONNECT_TIMEOUT, MAX_HEADER_BYTES},
};
use crate::{
    error::Unresolvable,
    upstream::{UpstreamProxy, Via},
    web::{Lookup, checked_addresses, is_local_name, is_metadata, is_public, may_be_proxied},
};

/// Port for a proxy address that has none.
const PROXY_PORT: u16 = 80;
/// Marks the end of response headers.
const HEADERS_END: &[u8] = b"\r\n\r\n";

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum DialError {
    /// One of the host's addresses is not allowed.
    Refused(Refused),
    /// The host has no address, or does not answer.
    Unreachable(String),
}

impl DialError {
    /// Returns the answer to the request.
    pub(super) fn into_problem(self, destination: &Destination) -> Problem {
        match self {
            Self::Refused(refused) => Problem::Refused(refused),
            Self::Unreachable(text) => Problem::Unreachable(destination.host.clone(), text),
        }
    }
}

/// A connection to a destination.
pub(super) struct Dialed {
    pub(super) stream: TcpStream,
    /// The service proxy that the stream ends at. It gets plain requests in absolute form. `None`
    /// for a tunnel, and for a direct connection.
    pub(super) via: Option<Via>,
}

impl Destination {
    /// Returns whether a connection may lead to an address.
    pub(super) fn admits(&self, address: IpAddr) -> bool {
        !is_metadata(address) && (self.addresses == Addresses::AlsoPrivate || is_public(address))
    }

    fn private(&self) -> DialError {
        DialError::Refused(match self.addresses {
            Addresses::AlsoPrivate => Refused::Metadata(self.host.clone()),
            Addresses::Public => Refused::NotPublic(self.host.clone(), self.port),
        })
    }
}

/// Resolves a name once and connects to an address that was checked. With a proxy in front of the
/// destination, connects to the proxy.
pub(super) async fn dial(
    (lookup, upstream): (&dyn Lookup, &UpstreamProxy),
    protocol: Protocol,
    destination: &Destination,
) -> Result<Dialed, DialError> {
    let connected = async {
        let scheme = protocol.scheme();
        match upstream.proxy_of(scheme, &destination.host, destination.port) {
            None => Ok(Dialed {
                stream: connect(lookup, destination).await?,
                via: None,
            }),
            Some(via) => through(lookup, protocol, destination, via).await,
        }
    };
    timeout(CONNECT_TIMEOUT, connected)
        .await
        .unwrap_or_else(|_| Err(DialError::Unreachable("it did not answer in time".into())))
}

/// Rejects a host that is private by name or by the addresses resolved here. The service's proxy
/// resolves others.
pub(super) async fn check_proxied(
    lookup: &dyn Lookup,
    destination: &Destination,
) -> Result<(), DialError> {
    let is_local = destination.addresses == Addresses::Public && is_local_name(&destination.host);
    if is_local
        || !may_be_proxied(lookup, &destination.host, |address| {
            destination.admits(address)
        })
        .await
    {
        return Err(destination.private());
    }
    Ok(())
}

async fn through(
    lookup: &dyn Lookup,
    protocol: Protocol,
    destination: &Destination,
    via: Via,
) -> Result<Dialed, DialError> {
    check_proxied(lookup, destination).await?;
    let failed = |text: String| DialError::Unreachable(format!("the proxy of the service {text}"));
    if via.uri.scheme_str() != Some("http") {
        return Err(failed(
            "is no `http://` address, which commands need".into(),
        ));
    }
    // IPv6 addresses have brackets in a URI.
    let host = via.uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let place = (host, via.uri.port_u16().unwrap_or(PROXY_PORT));
    // The operator chose the proxy, so the address is not checked.
    let stream = TcpStream::connect(place)
        .await
        .map_err(|error| failed(format!("is not reached: {error}")))?;
    match protocol {
        Protocol::Plain => Ok(Dialed {
            stream,
            via: Some(via),
        }),
        Protocol::Tunnel => {
            let stream = tunnel(stream, destination, via.authorization.as_ref())
                .await
                .map_err(failed)?;
            Ok(Dialed { stream, via: None })
        }
    }
}

/// Asks a proxy for a tunnel.
async fn tunnel(
    mut stream: TcpStream,
    destination: &Destination,
    authorization: Option<&HeaderValue>,
) -> Result<TcpStream, String> {
    let target = format!("{}:{}", destination.host, destination.port);
    let mut request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n").into_bytes();
    if let Some(value) = authorization {
        request.extend([b"Proxy-Authorization: ", value.as_bytes(), b"\r\n"].concat());
    }
    request.extend(b"\r\n");
    stream
        .write_all(&request)
        .await
        .map_err(|error| format!("closed the connection: {error}"))?;
    let mut head = Vec::new();
    while !head.ends_with(HEADERS_END) {
        if head.len() >= MAX_HEADER_BYTES {
            return Err("sends endless headers".into());
        }
        // Byte by byte: what follows belongs to the tunnel.
        head.push(
            stream
                .read_u8()
                .await
                .map_err(|error| format!("closed the connection: {error}"))?,
        );
    }
    let status = String::from_utf8_lossy(&head);
    match status.split(' ').nth(1) {
        Some(code) if code.len() == 3 && code.starts_with('2') => Ok(stream),
        Some(code) => Err(format!(
            "refused the host with status {}",
            code.chars().take(3).collect::<String>()
        )),
        None => Err("sent no status".into()),
    }
}

async fn connect(lookup: &dyn Lookup, destination: &Destination) -> Result<TcpStream, DialError> {
    let Destination { host, port, .. } = destination;
    let found = match checked_addresses(lookup, host, |address| destination.admits(address)).await {
        Ok(found) => found,
        Err(Unresolvable::Unknown) => {
            return Err(DialError::Unreachable("it has no address".into()));
        }
        Err(Unresolvable::Forbidden) => return Err(destination.private()),
    };
    let mut last = io::Error::other("it has no address");
    for address in found {
        match TcpStream::connect((address, *port)).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(DialError::Unreachable(last.to_string()))
}
