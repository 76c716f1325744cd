//! Refuses calls that make sockets, or connect without the call that Landlock checks.
//!
//! A Unix socket path needs no Landlock right in most kernels. A command could ask the user's other
//! programs, such as a container engine or the session bus, to act for it. So it creates no Unix
//! socket, with a proxy only TCP sockets, which Landlock restricts, and without network none at
//! all. Connected socket pairs stay allowed. In namespaces it may create its own Unix sockets, and
//! none in a family that no namespace holds, such as sockets to a virtual machine's host.
//! `io_uring` is refused, because it creates sockets without the filtered calls. With a proxy, data
//! in a connection's first packet (`MSG_FASTOPEN`) is refused.

use seccompiler::{BackendError, SeccompCmpOp, SeccompRule, TargetArch};

use super::{
    super::access::Reach,
    number::{Refused, SystemCall, condition, rule},
};

const SOCKET: SystemCall = SystemCall::new(41, 198);
const LISTEN: SystemCall = SystemCall::new(50, 201);
const IO_URING_SETUP: SystemCall = SystemCall::new(425, 425);
/// Calls that send, with the flags' position: `sendto`, `sendmsg` and `sendmmsg`.
const SENDS: [(SystemCall, u8); 3] = [
    (SystemCall::new(44, 206), 3),
    (SystemCall::new(46, 211), 2),
    (SystemCall::new(307, 269), 3),
];
const UNIX: u64 = 1;
const INET: u64 = 2;
const INET6: u64 = 10;
/// `AF_NETLINK`, with which libraries read interface addresses.
const NETLINK: u64 = 16;
/// Socket families for a command with a network.
const FAMILIES: [u64; 3] = [INET, INET6, NETLINK];
/// Socket families that network namespaces hold.
const HELD_FAMILIES: [u64; 4] = [UNIX, INET, INET6, NETLINK];
/// The type `SOCK_STREAM`, and the type bits.
const STREAM: u64 = 1;
const TYPE_BITS: u64 = 0xf;
/// Protocols that make an IP stream TCP: the default, or `IPPROTO_TCP`.
const TCP: [u64; 2] = [0, 6];
/// The send flag that connects.
const MSG_FASTOPEN: u64 = 0x2000_0000;

/// Refuses the sockets that a command with this network must not have.
pub(super) fn refuse_sockets(
    reach: &Reach,
    target: TargetArch,
    refused: &mut Refused,
) -> Result<(), BackendError> {
    let sockets = match reach {
        Reach::Nothing => Vec::new(),
        Reach::Machine => vec![other_families(FAMILIES)?],
        Reach::Proxy(_) => only_tcp()?,
    };
    SOCKET.refuse(target, sockets, refused);
    IO_URING_SETUP.refuse(target, Vec::new(), refused);
    if let Reach::Proxy(_) = reach {
        for (call, position) in SENDS {
            let connects = condition(position, SeccompCmpOp::MaskedEq(MSG_FASTOPEN), MSG_FASTOPEN);
            call.refuse(target, vec![rule([connects])?], refused);
        }
    }
    Ok(())
}

/// Refuses sockets that listen.
///
/// Landlock checks the port that a socket is bound to, and a socket that listens unbound has a port
/// that the kernel selects. A browser would send the run pages' session there, as to every port on
/// this host.
pub(super) fn refuse_listeners(target: TargetArch, refused: &mut Refused) {
    LISTEN.refuse(target, Vec::new(), refused);
}

/// Refuses Unix sockets, as with the machine's network under Landlock.
pub(super) fn refuse_local_sockets(
    target: TargetArch,
    refused: &mut Refused,
) -> Result<(), BackendError> {
    refuse_sockets(&Reach::Machine, target, refused)
}

/// Refuses the sockets that namespaces do not hold.
pub(super) fn refuse_unheld_sockets(
    target: TargetArch,
    refused: &mut Refused,
) -> Result<(), BackendError> {
    SOCKET.refuse(target, vec![other_families(HELD_FAMILIES)?], refused);
    IO_URING_SETUP.refuse(target, Vec::new(), refused);
    Ok(())
}

/// Matches sockets in all other families.
fn other_families<const N: usize>(families: [u64; N]) -> Result<SeccompRule, BackendError> {
    rule(families.map(|family| condition(0, SeccompCmpOp::Ne, family)))
}

/// Matches sockets in other families, and IP sockets that are not TCP.
fn only_tcp() -> Result<Vec<SeccompRule>, BackendError> {
    let is_ip = || condition(0, SeccompCmpOp::Ne, NETLINK);
    let mut rules = vec![other_families(FAMILIES)?];
    for kind in (0..=TYPE_BITS).filter(|kind| *kind != STREAM) {
        rules.push(rule([
            is_ip(),
            condition(1, SeccompCmpOp::MaskedEq(TYPE_BITS), kind),
        ])?);
    }
    let [default, tcp] = TCP.map(|protocol| condition(2, SeccompCmpOp::Ne, protocol));
    rules.push(rule([is_ip(), default, tcp])?);
    Ok(rules)
}
