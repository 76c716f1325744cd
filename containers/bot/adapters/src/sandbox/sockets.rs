//! A filter of system calls, for what Landlock has no rule for: sockets.
//!
//! A path of a Unix socket needs no right of Landlock in most kernels. A command could ask another program of its user,
//! such as a container engine or the session's bus, to act for it. So it creates no Unix socket, with a proxy only
//! sockets of TCP, which Landlock restricts, and without network none at all. Pairs of connected sockets stay allowed.
//! `io_uring` is refused, because it creates sockets without the filtered calls. With a proxy, data in the first packet
//! of a connection (`MSG_FASTOPEN`) is refused, because this connects without the call that Landlock checks.

use std::{collections::BTreeMap, env::consts::ARCH, io};

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

use super::access::Reach;

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
/// The error of a refused call: `EPERM`.
const REFUSED: u32 = 1;
/// The bit of system calls of the x32 interface, which has the same architecture.
const X32: i64 = 0x4000_0000;
/// The numbers that only the x32 interface has for `sendmsg` and `sendmmsg`.
const X32_SENDS: [i64; 2] = [518 | X32, 538 | X32];

/// The numbers of the filtered calls.
struct Calls {
    socket: i64,
    io_uring_setup: i64,
    /// The calls that send, with the position of their flags.
    sends: [(i64, u8); 3],
}

/// Applies the filter to this thread and every program that it starts.
pub(super) fn filter(reach: &Reach) -> io::Result<()> {
    let program = program(reach).map_err(io::Error::other)?;
    seccompiler::apply_filter(&program).map_err(io::Error::other)
}

fn program(reach: &Reach) -> Result<BpfProgram, BackendError> {
    let target = TargetArch::try_from(ARCH)?;
    let calls = match target {
        TargetArch::x86_64 => Calls { socket: 41, io_uring_setup: 425, sends: [(44, 3), (46, 2), (307, 3)] },
        TargetArch::aarch64 | TargetArch::riscv64 => {
            Calls { socket: 198, io_uring_setup: 425, sends: [(206, 3), (211, 2), (269, 3)] }
        }
    };
    let sockets = match reach {
        Reach::Nothing => Vec::new(),
        Reach::Machine => vec![other_families()?],
        Reach::Proxy(_) => only_tcp()?,
    };
    let mut rules = BTreeMap::from([(calls.socket, sockets), (calls.io_uring_setup, Vec::new())]);
    if let Reach::Proxy(_) = reach {
        for (call, position) in calls.sends {
            let fast = condition(position, SeccompCmpOp::MaskedEq(MSG_FASTOPEN), MSG_FASTOPEN)?;
            rules.insert(call, vec![SeccompRule::new(vec![fast])?]);
        }
    }
    if target == TargetArch::x86_64 {
        let of_x32 =
            [calls.socket, calls.io_uring_setup].into_iter().chain(calls.sends.map(|(call, _)| call));
        rules.extend(of_x32.map(|call| call | X32).chain(X32_SENDS).map(|call| (call, Vec::new())));
    }
    SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(REFUSED), target)?.try_into()
}

/// Matches the sockets of all other families.
fn other_families() -> Result<SeccompRule, BackendError> {
    let conditions = FAMILIES.map(|family| condition(0, SeccompCmpOp::Ne, family));
    SeccompRule::new(conditions.into_iter().collect::<Result<_, _>>()?)
}

/// Matches the sockets of other families, and those of IP that are not TCP.
fn only_tcp() -> Result<Vec<SeccompRule>, BackendError> {
    let is_ip = || condition(0, SeccompCmpOp::Ne, NETLINK);
    let mut rules = vec![other_families()?];
    for kind in (0..=TYPE_BITS).filter(|kind| *kind != STREAM) {
        let has_kind = condition(1, SeccompCmpOp::MaskedEq(TYPE_BITS), kind)?;
        rules.push(SeccompRule::new(vec![is_ip()?, has_kind])?);
    }
    let [default, tcp] = TCP.map(|protocol| condition(2, SeccompCmpOp::Ne, protocol));
    rules.push(SeccompRule::new(vec![is_ip()?, default?, tcp?])?);
    Ok(rules)
}

fn condition(position: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(position, SeccompCmpArgLen::Dword, operator, value)
}
