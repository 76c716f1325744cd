//! Refuses calls that let a file lend its owner's rights.
//!
//! Landlock has no right for a file's mode, so a command could do this to every file of its user.
//! Other mode changes stay possible, because builds need them and a filter sees no path
//! (docs/threat-model.md).

use seccompiler::{BackendError, SeccompCmpOp, TargetArch};

use super::number::{Refused, SystemCall, condition, rule};

/// Calls that set a mode, with the mode's position: `chmod`, `fchmod`, `fchmodat` and `fchmodat2`.
const MODES: [(SystemCall, u8); 4] = [
    (SystemCall::old(90), 1),
    (SystemCall::new(91, 52), 1),
    (SystemCall::new(268, 53), 2),
    (SystemCall::new(452, 452), 2),
];
/// Bits that make a program run with the rights of its file's owner or group.
const LENDING: [u64; 2] = [0o4000, 0o2000];

/// Refuses modes with any such bit.
pub(super) fn refuse_lending(
    target: TargetArch,
    refused: &mut Refused,
) -> Result<(), BackendError> {
    for (call, position) in MODES {
        let lends =
            LENDING.map(|bit| rule([condition(position, SeccompCmpOp::MaskedEq(bit), bit)]));
        call.refuse(
            target,
            lends.into_iter().collect::<Result<_, _>>()?,
            refused,
        );
    }
    Ok(())
}
