//! A filter of system calls, for what Landlock has no rule for: sockets.
//!
//! A path of a Unix socket needs no right of Landlock in most kernels. A command could ask another program of its user,
//! such as a container engine or the session's bus, to act for it. So it creates no Unix socket, and without network
//! none at all. Pairs of connected sockets stay allowed. `io_uring` is refused, because it creates sockets without the
//! filtered calls.

use std::{collections::BTreeMap, env::consts::ARCH, io};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

use super::Network;

/// The families of sockets with `Network::Open`: `AF_INET`, `AF_INET6`, `AF_NETLINK`.
const OPEN_FAMILIES: [u64; 3] = [2, 10, 16];
/// The error of a refused call: `EPERM`.
const REFUSED: u32 = 1;
/// The bit of system calls of the x32 interface, which has the same architecture.
const X32: i64 = 0x4000_0000;

/// The numbers of the refused calls.
struct Calls {
    socket: i64,
    io_uring_setup: i64,
}

/// Applies the filter to this thread and every program that it starts.
pub(super) fn filter(network: Network) -> io::Result<()> {
    let program = program(network).map_err(io::Error::other)?;
    seccompiler::apply_filter(&program).map_err(io::Error::other)
}

fn program(network: Network) -> Result<BpfProgram, seccompiler::BackendError> {
    let target = TargetArch::try_from(ARCH)?;
    let calls = match target {
        TargetArch::x86_64 => Calls { socket: 41, io_uring_setup: 425 },
        TargetArch::aarch64 | TargetArch::riscv64 => Calls { socket: 198, io_uring_setup: 425 },
    };
    let sockets = match network {
        Network::None => Vec::new(),
        Network::Open => {
            vec![SeccompRule::new(OPEN_FAMILIES.map(is_not_family).into_iter().collect::<Result<_, _>>()?)?]
        }
    };
    let mut rules = BTreeMap::from([(calls.socket, sockets), (calls.io_uring_setup, Vec::new())]);
    if target == TargetArch::x86_64 {
        rules.extend([(calls.socket | X32, Vec::new()), (calls.io_uring_setup | X32, Vec::new())]);
    }
    SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(REFUSED), target)?.try_into()
}

fn is_not_family(family: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family)
}
