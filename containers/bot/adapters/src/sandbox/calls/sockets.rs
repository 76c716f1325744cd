//! Calls that make sockets, and those that connect without the call that Landlock checks.
//!
//! A path of a Unix socket needs no right of Landlock in most kernels. A command could ask another program of its user,
//! such as a container engine or the session's bus, to act for it. So it creates no Unix socket, with a proxy only
//! sockets of TCP, which Landlock restricts, and without network none at all. Pairs of connected sockets stay allowed.
//! `io_uring` is refused, because it creates sockets without the filtered calls. With a proxy, data in the first packet
//! of a connection (`MSG_FASTOPEN`) is refused.

use seccompiler::{BackendError, SeccompCmpOp, SeccompRule, TargetArch};

use super::{
    super::access::Reach,
    number::{Call, Refused, condition, rule},
};

const SOCKET: Call = Call::new(41, 198);
const IO_URING_SETUP: Call = Call::new(425, 425);
/// The calls that send, with the position of their flags: `sendto`, `sendmsg` and `sendmmsg`.
const SENDS: [(Call, u8); 3] = [(Call::new(44, 206), 3), (Call::new(46, 211), 2), (Call::new(307, 269), 3)];
/// `AF_NETLINK`, with which libraries read the addresses of interfaces.
const NETLINK: u64 = 16;
/// The families of sockets of a command with a network: `AF_INET`, `AF_INET6` and netlink.
const FAMILIES: [u64; 3] = [2, 10, NETLINK];
/// The type `SOCK_STREAM`, and the bits of the types.
const STREAM: u64 = 1;
const TYPE_BITS: u64 = 0xf;
/// The protocol of a stream of IP that is TCP: the default one, or `IPPROTO_TCP`.
const TCP: [u64; 2] = [0, 6];
/// The flag of sends that connects.
const MSG_FASTOPEN: u64 = 0x2000_0000;

/// Refuses the sockets that a command with this network must not have.
pub(super) fn refuse_sockets(
    reach: &Reach,
    target: TargetArch,
    refused: &mut Refused,
) -> Result<(), BackendError> {
    let sockets = match reach {
        Reach::Nothing => Vec::new(),
        Reach::Machine => vec![other_families()?],
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

/// Matches the sockets of all other families.
fn other_families() -> Result<SeccompRule, BackendError> {
    rule(FAMILIES.map(|family| condition(0, SeccompCmpOp::Ne, family)))
}

/// Matches the sockets of other families, and those of IP that are not TCP.
fn only_tcp() -> Result<Vec<SeccompRule>, BackendError> {
    let is_ip = || condition(0, SeccompCmpOp::Ne, NETLINK);
    let mut rules = vec![other_families()?];
    for kind in (0..=TYPE_BITS).filter(|kind| *kind != STREAM) {
        rules.push(rule([is_ip(), condition(1, SeccompCmpOp::MaskedEq(TYPE_BITS), kind)])?);
    }
    let [default, tcp] = TCP.map(|protocol| condition(2, SeccompCmpOp::Ne, protocol));
    rules.push(rule([is_ip(), default, tcp])?);
    Ok(rules)
}
