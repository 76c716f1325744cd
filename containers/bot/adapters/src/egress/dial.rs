//! Connects to allowed destinations.

use std::{io, net::IpAddr, sync::Arc};

use tokio::{net::TcpStream, time::timeout};

use super::{
    decide::{Addresses, Destination, Refused},
    limits::CONNECT_TIMEOUT,
};
use crate::{
    error::Unresolvable,
    web::{Lookup, checked_addresses, is_metadata, is_public},
};

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum DialError {
    /// An address of the host is not allowed.
    Refused(Refused),
    /// The host has no address, or does not answer.
    Unreachable(String),
}

/// Resolves a name once and connects to one of the addresses that were checked.
pub(super) async fn dial(
    lookup: &Arc<dyn Lookup>,
    destination: &Destination,
) -> Result<TcpStream, DialError> {
    timeout(CONNECT_TIMEOUT, connect(&**lookup, destination))
        .await
        .unwrap_or_else(|_| Err(DialError::Unreachable("it did not answer in time".into())))
}

async fn connect(lookup: &dyn Lookup, destination: &Destination) -> Result<TcpStream, DialError> {
    let Destination { host, port, addresses } = destination;
    let may_be_private = *addresses == Addresses::AlsoPrivate;
    let admits = |address: IpAddr| !is_metadata(address) && (may_be_private || is_public(address));
    let found = match checked_addresses(lookup, host, admits).await {
        Ok(found) => found,
        Err(Unresolvable::Unknown) => return Err(DialError::Unreachable("it has no address".into())),
        Err(Unresolvable::Forbidden) => {
            let refused = match may_be_private {
                true => Refused::Metadata(host.clone()),
                false => Refused::NotPublic(host.clone(), *port),
            };
            return Err(DialError::Refused(refused));
        }
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
