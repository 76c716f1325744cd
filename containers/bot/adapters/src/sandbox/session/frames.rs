//! Messages between the bot and a session's first program.
//!
//! A message is a byte that names the kind, the body length, and the body. Descriptors are sent
//! with the first byte. Both sides are the same program, so a message has no version.

use std::{
    ffi::{OsStr, OsString},
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::{OsStrExt as _, OsStringExt as _},
    },
    process::Command,
};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recv, recvmsg, sendmsg,
};

/// Maximum body size in bytes: more than the kernel lets a program have as arguments and variables.
const MAX_BODY: usize = 8 << 20;
/// Maximum descriptors in a message.
const MAX_DESCRIPTORS: usize = 2;
/// Bytes before the body, after the kind.
const LENGTH_BYTES: usize = 4;
/// Separates the parts in a body. Neither an argument nor a variable can contain it.
const SEPARATOR: u8 = 0;

/// What the bot asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Start a command; with standard output and standard error.
    Start,
    /// Kill everything left from the command.
    Kill,
}

/// What the program in the sandbox says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Commands can be started; with the proxy's listener, if it made a listener.
    Ready,
    /// The command could not be started. The body says why.
    Failed,
    /// The command has ended. The body is the exit code, or 128 and the signal number.
    Exited,
    /// Nothing is left of the command.
    Killed,
}

/// A message in either direction.
#[derive(Debug)]
pub(crate) struct Frame<K> {
    pub(crate) kind: K,
    pub(crate) body: Vec<u8>,
    pub(crate) descriptors: Vec<OwnedFd>,
}

/// The kind that a message has.
pub(crate) trait Kind: Copy + Sized + 'static {
    /// The kinds; their places are their numbers.
    const ALL: &'static [Self];
}

impl Kind for Order {
    const ALL: &'static [Self] = &[Self::Start, Self::Kill];
}

impl Kind for Answer {
    const ALL: &'static [Self] = &[Self::Ready, Self::Failed, Self::Exited, Self::Killed];
}

/// Returns a message's bytes.
fn encode<K: Kind + PartialEq>(kind: K, body: &[u8]) -> io::Result<Vec<u8>> {
    let number = K::ALL
        .iter()
        .position(|known| *known == kind)
        .and_then(|number| u8::try_from(number).ok());
    let length = u32::try_from(body.len())
        .ok()
        .filter(|_| body.len() <= MAX_BODY);
    let (Some(number), Some(length)) = (number, length) else {
        return Err(io::Error::new(
            io::ErrorKind::ArgumentListTooLong,
            "the command is too long",
        ));
    };
    Ok([&[number][..], &length.to_le_bytes(), body].concat())
}

/// Sends part of a message, and the descriptors with the first part. Returns the byte count.
pub(crate) fn send_part(
    socket: impl AsFd,
    part: &[u8],
    descriptors: &[BorrowedFd<'_>],
    wait: Wait,
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::other("no space for the descriptors"));
    }
    let flags = SendFlags::NOSIGNAL | wait.send_flags();
    Ok(sendmsg(
        &socket,
        &[IoSlice::new(part)],
        &mut ancillary,
        flags,
    )?)
}

/// Sends a message. Waits while the other side does not take it.
pub(super) fn send<K: Kind + PartialEq>(
    socket: impl AsFd,
    kind: K,
    body: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let message = encode(kind, body)?;
    let mut sent = send_part(&socket, &message, descriptors, Wait::Blocking)?;
    while sent < message.len() {
        sent += send_part(&socket, &message[sent..], &[], Wait::Blocking)?;
    }
    Ok(())
}

/// Whether a reader or writer waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Until there is a message.
    Blocking,
    /// Not at all. A small message arrives whole, because it is sent at once.
    Never,
}

impl Wait {
    const fn flags(self) -> RecvFlags {
        match self {
            Self::Blocking => RecvFlags::empty(),
            Self::Never => RecvFlags::DONTWAIT,
        }
    }

    const fn send_flags(self) -> SendFlags {
        match self {
            Self::Blocking => SendFlags::empty(),
            Self::Never => SendFlags::DONTWAIT,
        }
    }
}

/// Returns a message. `None` if the other side is gone.
pub(crate) fn receive<K: Kind>(socket: impl AsFd, wait: Wait) -> io::Result<Option<Frame<K>>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut head = [0; 1 + LENGTH_BYTES];
    // No more than the kind at once, so the descriptors belong to this message.
    let (kind, length) = head.split_at_mut(1);
    let flags = wait.flags() | RecvFlags::CMSG_CLOEXEC;
    if recvmsg(&socket, &mut [IoSliceMut::new(kind)], &mut ancillary, flags)?.bytes == 0 {
        return Ok(None);
    }
    let descriptors = ancillary.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => descriptors.collect(),
        _ => Vec::new(),
    });
    let descriptors = descriptors.collect();
    read_exact(&socket, length, wait)?;
    let &mut [number, a, b, c, d] = &mut head;
    let length = usize::try_from(u32::from_le_bytes([a, b, c, d])).map_err(io::Error::other)?;
    let kind = K::ALL.get(usize::from(number)).copied();
    let kind = kind
        .filter(|_| length <= MAX_BODY)
        .ok_or(io::ErrorKind::InvalidData)?;
    let mut body = vec![0; length];
    read_exact(&socket, &mut body, wait)?;
    Ok(Some(Frame {
        kind,
        body,
        descriptors,
    }))
}

fn read_exact(socket: impl AsFd, mut buffer: &mut [u8], wait: Wait) -> io::Result<()> {
    while !buffer.is_empty() {
        match recv(&socket, &mut *buffer, wait.flags()) {
            Ok((0, _)) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok((count, _)) => buffer = &mut buffer[count..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Returns the message that starts a command with exactly these variables.
pub(crate) fn start_message(command: &Command) -> io::Result<Vec<u8>> {
    let folder = command
        .get_current_dir()
        .map_or(OsStr::new("/"), |folder| folder.as_os_str());
    let count = (1 + command.get_args().count()).to_string();
    let mut parts: Vec<&[u8]> = vec![
        folder.as_bytes(),
        count.as_bytes(),
        command.get_program().as_bytes(),
    ];
    parts.extend(command.get_args().map(OsStr::as_bytes));
    for (name, value) in command.get_envs() {
        parts.extend([name.as_bytes(), value.unwrap_or_default().as_bytes()]);
    }
    encode(Order::Start, &parts.join(&SEPARATOR))
}

/// Returns the message that kills everything left from a command.
pub(crate) fn kill_message() -> io::Result<Vec<u8>> {
    encode(Order::Kill, &[])
}

/// Returns the command in a body.
pub(super) fn command_of(body: &[u8]) -> Option<Command> {
    let mut parts = body
        .split(|byte| *byte == SEPARATOR)
        .map(|part| OsString::from_vec(part.to_vec()));
    let (folder, count) = (
        parts.next()?,
        parts.next()?.to_str()?.parse::<usize>().ok()?,
    );
    let mut command = Command::new(parts.next()?);
    command
        .current_dir(folder)
        .args((1..count).map_while(|_| parts.next()))
        .env_clear();
    while let (Some(name), Some(value)) = (parts.next(), parts.next()) {
        command.env(name, value);
    }
    Some(command)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn command_arrives_as_it_was_sent() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut command = Command::new("/bin/sh");
        let long = "x".repeat(200_000);
        command
            .args(["-c", "", "a b\n", &long])
            .current_dir("/tmp")
            .env_clear()
            .env("A", "")
            .env("B", "1=2");
        let sending = std::thread::spawn(move || {
            let (output, errors) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
            let message = start_message(&command).unwrap();
            let mut sent = send_part(
                &ours,
                &message,
                &[output.as_fd(), errors.as_fd()],
                Wait::Blocking,
            )
            .unwrap();
            while sent < message.len() {
                sent += send_part(&ours, &message[sent..], &[], Wait::Blocking).unwrap();
            }
            send(&ours, Order::Kill, &[], &[]).unwrap();
            command
        });
        let start = receive::<Order>(&theirs, Wait::Blocking).unwrap().unwrap();
        assert_eq!((start.kind, start.descriptors.len()), (Order::Start, 2));
        let (found, sent) = (command_of(&start.body).unwrap(), sending.join().unwrap());
        assert!(found.get_args().eq(sent.get_args()) && found.get_envs().eq(sent.get_envs()));
        assert_eq!(found.get_current_dir(), sent.get_current_dir());
        let kill = receive::<Order>(&theirs, Wait::Blocking).unwrap().unwrap();
        assert_eq!((kill.kind, kill.descriptors.len()), (Order::Kill, 0));
        assert!(receive::<Order>(&theirs, Wait::Blocking).unwrap().is_none());
    }

    #[test]
    fn unknown_message_is_an_error() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        rustix::io::write(&ours, &[9, 0, 0, 0, 0]).unwrap();
        assert_eq!(
            receive::<Order>(&theirs, Wait::Blocking)
                .unwrap_err()
                .kind(),
            io::ErrorKind::InvalidData
        );
        rustix::io::write(&ours, &[0, 255, 255, 255, 255]).unwrap();
        assert_eq!(
            receive::<Order>(&theirs, Wait::Blocking)
                .unwrap_err()
                .kind(),
            io::ErrorKind::InvalidData
        );
    }
}
