//! A program's system call filter.

use std::{env::consts::ARCH, io};

use seccompiler::{BackendError, BpfProgram, SeccompAction, SeccompFilter, TargetArch};

use super::{
    super::access::Reach,
    attributes::refuse_lending,
    number::Refused,
    objects::{refuse_keys, refuse_objects},
    processes::refuse_others,
    sockets::{refuse_listeners, refuse_local_sockets, refuse_sockets, refuse_unheld_sockets},
};

/// The error that a refused call returns: `EPERM`.
const REFUSED: u32 = 1;
/// The bit for system calls in the x32 interface, which has the same architecture.
const X32: i64 = 0x4000_0000;
/// The numbers that only the x32 interface has for `sendmsg` and `sendmmsg`.
const X32_SENDS: [i64; 2] = [518 | X32, 538 | X32];

/// Applies the filter to this thread and every program that it starts.
pub(in super::super) fn filter(reach: &Reach, may_listen: bool) -> io::Result<()> {
    apply(program(reach, may_listen))
}

/// What a program in namespaces may do with sockets without a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum AbstractSockets {
    /// The program reaches only its own: through a network namespace, or through Landlock.
    Separate,
    /// It shares them with the machine.
    Shared,
}

/// Applies the filter part that namespaces do not replace.
pub(in super::super) fn filter_beside_namespaces(sockets: AbstractSockets) -> io::Result<()> {
    apply(beside_namespaces(sockets))
}

fn beside_namespaces(sockets: AbstractSockets) -> Result<BpfProgram, BackendError> {
    let target = TargetArch::try_from(ARCH)?;
    let mut refused = Refused::new();
    refuse_keys(target, &mut refused);
    match sockets {
        AbstractSockets::Separate => refuse_unheld_sockets(target, &mut refused)?,
        AbstractSockets::Shared => refuse_local_sockets(target, &mut refused)?,
    }
    compiled(target, refused)
}

/// Returns the filter that keeps a session's commands from changing the program that starts them.
pub(in super::super) fn filter_of_others() -> io::Result<BpfProgram> {
    let compile = || {
        let target = TargetArch::try_from(ARCH)?;
        let mut refused = Refused::new();
        refuse_others(target, &mut refused)?;
        compiled(target, refused)
    };
    compile().map_err(io::Error::other)
}

/// Applies a compiled filter to this thread and every program that it starts.
pub(in super::super) fn apply_compiled(program: &BpfProgram) -> io::Result<()> {
    seccompiler::apply_filter(program).map_err(io::Error::other)
}

fn apply(program: Result<BpfProgram, BackendError>) -> io::Result<()> {
    apply_compiled(&program.map_err(io::Error::other)?)
}

fn program(reach: &Reach, may_listen: bool) -> Result<BpfProgram, BackendError> {
    let target = TargetArch::try_from(ARCH)?;
    let mut refused = Refused::new();
    refuse_sockets(reach, target, &mut refused)?;
    if matches!(reach, Reach::Proxy(_)) && !may_listen {
        refuse_listeners(target, &mut refused);
    }
    refuse_others(target, &mut refused)?;
    refuse_lending(target, &mut refused)?;
    refuse_objects(target, &mut refused);
    compiled(target, refused)
}

fn compiled(target: TargetArch, mut refused: Refused) -> Result<BpfProgram, BackendError> {
    if target == TargetArch::x86_64 {
        let of_x32: Vec<i64> = refused
            .keys()
            .map(|call| call | X32)
            .chain(X32_SENDS)
            .collect();
        refused.extend(of_x32.into_iter().map(|call| (call, Vec::new())));
    }
    SeccompFilter::new(
        refused,
        SeccompAction::Allow,
        SeccompAction::Errno(REFUSED),
        target,
    )?
    .try_into()
}

#[cfg(test)]
mod tests {
    use std::{
        net::TcpListener,
        os::unix::net::{UnixDatagram, UnixStream},
        thread,
    };

    use super::*;
    use crate::egress::Way;

    /// Returns whether a filtered program makes a Unix socket, a socket pair, and a TCP socket.
    fn made(sockets: AbstractSockets) -> [bool; 3] {
        // The filter lasts as long as the thread.
        let tried = thread::spawn(move || {
            filter_beside_namespaces(sockets).unwrap();
            let (own, pair, tcp) = (
                UnixDatagram::unbound(),
                UnixStream::pair(),
                TcpListener::bind(("127.0.0.1", 0)),
            );
            [own.is_ok(), pair.is_ok(), tcp.is_ok()]
        });
        tried.join().unwrap()
    }

    #[test]
    fn listener_needs_the_setting() {
        for may_listen in [false, true] {
            let tried = thread::spawn(move || {
                filter(&Reach::Proxy(Way::Port(1)), may_listen).unwrap();
                TcpListener::bind(("127.0.0.1", 0)).is_ok()
            });
            assert_eq!(tried.join().unwrap(), may_listen);
        }
    }

    /// A filter sees no address. It refuses every Unix socket where abstract ones belong to the
    /// machine.
    #[test]
    fn shared_abstract_sockets_are_refused() {
        assert_eq!(made(AbstractSockets::Shared), [false, true, true]);
        assert_eq!(made(AbstractSockets::Separate), [true, true, true]);
    }
}
