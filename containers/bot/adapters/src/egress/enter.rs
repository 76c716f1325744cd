//! The first program in a network namespace: makes the proxy's listener and becomes the command.
//!
//! Only a process in the namespace can make a socket there. It hands the listener to the bot and
//! waits until the bot has confirmed it, so the socket between them is closed before the command
//! begins.

use std::{
    ffi::OsString,
    io::{self, IoSlice, Read as _},
    mem::MaybeUninit,
    net::{Ipv4Addr, TcpListener},
    os::{
        fd::AsFd as _,
        unix::{net::UnixStream, process::CommandExt as _},
    },
    process::Command,
};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Name of the hidden subcommand.
pub const ENTER: &str = "sandbox-enter";
/// The proxy's port in a namespace.
pub(crate) const PORT: u16 = 3128;

/// Hands the listener over and becomes the program. The words are the socket path, the namespace's
/// maximum process count, then the program. Returns only on failure, with the error.
pub fn enter(words: &[OsString]) -> io::Error {
    let [socket, processes, program, arguments @ ..] = words else {
        return io::Error::other("the socket, the limit or the program is missing");
    };
    let limited =
        hand_over(socket).map_err(|error| format!("the way to the egress proxy: {error}"));
    match limited.and_then(|()| limit_processes(processes)) {
        Ok(()) => Command::new(program).args(arguments).exec(),
        Err(error) => io::Error::other(error),
    }
}

/// Limits the processes that the kernel counts in this user namespace. A limit is never raised.
pub(crate) fn limit_processes(maximum: &OsString) -> Result<(), String> {
    let maximum = maximum
        .to_str()
        .and_then(|text| text.parse().ok())
        .ok_or("the limit is no number")?;
    let own = getrlimit(Resource::Nproc);
    let lower = |own: Option<u64>| Some(own.map_or(maximum, |own| own.min(maximum)));
    let limit = Rlimit {
        current: lower(own.current),
        maximum: lower(own.maximum),
    };
    setrlimit(Resource::Nproc, limit).map_err(|error| format!("the limit of processes: {error}"))
}

fn hand_over(socket: &OsString) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT))?;
    let mut stream = UnixStream::connect(socket)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let descriptors = [listener.as_fd()];
    if !ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::Error::other("no space for the listener"));
    }
    sendmsg(
        &stream,
        &[IoSlice::new(&[0])],
        &mut ancillary,
        SendFlags::empty(),
    )?;
    stream.read_exact(&mut [0])
}
