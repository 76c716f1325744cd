//! Receives the listener that a command's network namespace hands over.

use std::{
    io::{self, IoSliceMut},
    mem::MaybeUninit,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg, sockopt::socket_acceptconn,
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncWriteExt as _, Interest},
    net::{TcpListener, UnixListener, UnixStream},
    time::timeout,
};

use super::limits::HANDOVER_TIMEOUT;

/// The socket's name in the folder.
const NAME: &str = "egress";

/// A socket for a single listener.
pub(super) struct Handover {
    // Private to this user. It is removed with the socket.
    folder: TempDir,
    socket: UnixListener,
}

impl Handover {
    /// Makes the socket in a temporary folder, because socket paths must be short.
    pub(super) fn new() -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("ars-egress-").tempdir()?;
        let socket = UnixListener::bind(folder.path().join(NAME))?;
        Ok(Self { folder, socket })
    }

    /// Returns the socket path.
    pub(super) fn path(&self) -> PathBuf {
        self.folder
            .path()
            .canonicalize()
            .unwrap_or_else(|_| self.folder.path().into())
            .join(NAME)
    }

    /// Waits for the listener, closes the socket, and confirms.
    pub(super) async fn receive(self) -> io::Result<TcpListener> {
        let Self { folder, socket } = self;
        let received = async {
            let (mut stream, _) = socket.accept().await?;
            let listener = receive(&stream).await?;
            // The command must not find the socket.
            drop(socket);
            remove(folder.path());
            stream.write_all(&[0]).await?;
            Ok(listener)
        };
        timeout(HANDOVER_TIMEOUT, received)
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }
}

fn remove(folder: &Path) {
    // The folder is removed once more when it is dropped.
    let _ = std::fs::remove_file(folder.join(NAME));
}

async fn receive(stream: &UnixStream) -> io::Result<TcpListener> {
    let received = stream.async_io(Interest::READABLE, || {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        recvmsg(
            stream,
            &mut [IoSliceMut::new(&mut byte)],
            &mut ancillary,
            RecvFlags::CMSG_CLOEXEC,
        )?;
        let found: Vec<OwnedFd> = ancillary
            .drain()
            .flat_map(|message| match message {
                RecvAncillaryMessage::ScmRights(descriptors) => descriptors.collect(),
                _ => Vec::new(),
            })
            .collect();
        Ok(found)
    });
    let descriptor = received
        .await?
        .pop()
        .ok_or_else(|| io::Error::other("no listener was handed over"))?;
    if !socket_acceptconn(&descriptor)? {
        return Err(io::Error::other("what was handed over is no listener"));
    }
    let listener = std::net::TcpListener::from(descriptor);
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}
