//! A command's proxy, open while the command runs.

use std::{
    io,
    net::{self, Ipv4Addr},
    os::fd::OwnedFd,
    path::PathBuf,
    sync::Arc,
};

use rustix::net::sockopt::socket_acceptconn;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    enter::PORT,
    handover::Handover,
    proxy::{Proxy, address, credentials},
    run::RunEgress,
};

/// Length of a command's secret in bytes.
const SECRET_BYTES: usize = 16;
/// Variables that hold the proxy address.
const ADDRESS_VARIABLES: [&str; 8] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "npm_config_proxy",
    "npm_config_https_proxy",
];
/// Variables with the hosts that are reached directly: the command's own listeners.
const DIRECT_VARIABLES: [&str; 3] = ["NO_PROXY", "no_proxy", "npm_config_noproxy"];
const DIRECT: &str = "localhost,127.0.0.1,::1";
/// Makes Node's own client use the variables.
const NODE_VARIABLE: (&str, &str) = ("NODE_USE_ENV_PROXY", "1");

/// How a command reaches the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GateKind {
    /// Over a listener in the command's network namespace.
    Namespace,
    /// Over a port on this machine.
    Port,
}

/// The way to a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Way {
    /// A socket to which the sandbox hands the listener over.
    Socket(PathBuf),
    /// A listener that a session's first program hands over.
    Session,
    /// A port on the loopback interface.
    Port(u16),
}

/// The listener for proxies in a session. It accepts connections while a command's proxy is open.
pub(crate) struct RequestLine {
    listener: net::TcpListener,
    port: u16,
    secret: Option<Arc<str>>,
}

impl RequestLine {
    /// Makes a listener on a local port, with a secret.
    pub(crate) fn on_this_machine() -> io::Result<Self> {
        let listener = net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        Ok(Self {
            listener,
            port,
            secret: Some(secret()?),
        })
    }

    /// Takes the listener that was made in a network namespace.
    pub(crate) fn handed_over(descriptor: OwnedFd) -> io::Result<Self> {
        if !socket_acceptconn(&descriptor)? {
            return Err(io::Error::other("what was handed over is no listener"));
        }
        let listener = net::TcpListener::from(descriptor);
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            port: PORT,
            secret: None,
        })
    }

    /// Returns the port as commands reach it.
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }
}

/// A command's proxy. Dropping it closes the connections.
pub(crate) struct Gate {
    way: Way,
    port: u16,
    secret: Option<Arc<str>>,
    run: Arc<RunEgress>,
    _open: DropGuard,
}

impl Gate {
    /// Opens a command's proxy.
    ///
    /// Needs the runtime on which it is served.
    pub(crate) fn open(run: &Arc<RunEgress>, kind: GateKind) -> io::Result<Self> {
        let closed = CancellationToken::new();
        let of_run = Arc::clone(run);
        let proxy = |secret| Proxy {
            run: Arc::clone(run),
            secret,
            closed: closed.clone(),
        };
        match kind {
            GateKind::Namespace => {
                let handover = Handover::new()?;
                let way = Way::Socket(handover.path());
                let proxy = proxy(None);
                let served = async move {
                    match handover.receive().await {
                        Ok(listener) => proxy.supervise(listener).await,
                        // The command has no network.
                        Err(error) => {
                            tracing::warn!(error = %error, "a sandbox has no way to the egress proxy");
                        }
                    }
                };
                let ended = closed.clone();
                tokio::spawn(async move { ended.run_until_cancelled(served).await });
                Ok(Self {
                    way,
                    port: PORT,
                    secret: None,
                    run: of_run,
                    _open: closed.drop_guard(),
                })
            }
            GateKind::Port => {
                let secret = secret()?;
                let listener = net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
                listener.set_nonblocking(true)?;
                let listener = TcpListener::from_std(listener)?;
                let port = listener.local_addr()?.port();
                tokio::spawn(proxy(Some(Arc::clone(&secret))).supervise(listener));
                let way = Way::Port(port);
                Ok(Self {
                    way,
                    port,
                    secret: Some(secret),
                    run: of_run,
                    _open: closed.drop_guard(),
                })
            }
        }
    }

    /// Opens a proxy for a command in a session, on the session's way.
    ///
    /// Needs the runtime on which it is served.
    pub(crate) fn of_session(run: &Arc<RunEgress>, line: &RequestLine) -> io::Result<Self> {
        let closed = CancellationToken::new();
        let listener = line.listener.try_clone()?;
        // Connections that were not accepted yet do not belong to this command.
        while listener.accept().is_ok() {}
        let listener = TcpListener::from_std(listener)?;
        let proxy = Proxy {
            run: Arc::clone(run),
            secret: line.secret.clone(),
            closed: closed.clone(),
        };
        tokio::spawn(proxy.supervise(listener));
        let (port, secret, run) = (line.port, line.secret.clone(), Arc::clone(run));
        Ok(Self {
            way: Way::Session,
            port,
            secret,
            run,
            _open: closed.drop_guard(),
        })
    }

    /// Returns how the sandbox reaches the proxy.
    pub(crate) const fn way(&self) -> &Way {
        &self.way
    }

    /// Returns the variables that HTTP clients and git read.
    pub(crate) fn variables(&self) -> impl Iterator<Item = (&'static str, String)> {
        let address = address(self.secret.as_deref(), self.port);
        let of_address = ADDRESS_VARIABLES
            .into_iter()
            .map(move |name| (name, address.clone()));
        let direct = DIRECT_VARIABLES
            .into_iter()
            .map(|name| (name, DIRECT.to_owned()));
        let node = [(NODE_VARIABLE.0, NODE_VARIABLE.1.to_owned())];
        of_address
            .chain(direct)
            .chain(node)
            .chain(self.run.variables())
    }

    /// Returns the proxy port as the command reaches it.
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// Returns the request line that authenticates the command; empty if no secret is needed.
    pub(crate) fn authorization(&self) -> String {
        let line = |secret: &Arc<str>| format!("Proxy-Authorization: {}\r\n", credentials(secret));
        self.secret.as_ref().map(line).unwrap_or_default()
    }
}

fn secret() -> io::Result<Arc<str>> {
    let mut random = [0; SECRET_BYTES];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(hex::encode(random).into())
}
