//! Refuses calls that change the same user's other processes: limits, processors and priorities.
//!
//! Landlock restricts signals and inspection, not these. A command could stop the service by
//! limiting it to zero files, or slow it down. A filter cannot compare a number with the caller's
//! own, so a process names itself by zero.

use seccompiler::{BackendError, SeccompCmpOp, TargetArch};

use super::number::{Refused, SystemCall, condition, is_given, rule};

/// Sets and returns the limit for a process, the first argument. The third is the new limit.
const PRLIMIT64: SystemCall = SystemCall::new(302, 261);
/// The calls that change how a process is scheduled, the first argument:
/// `sched_setparam`, `sched_setscheduler`, `sched_setaffinity` and `sched_setattr`.
const SCHEDULING: [SystemCall; 4] = [
    SystemCall::new(142, 118),
    SystemCall::new(144, 119),
    SystemCall::new(203, 122),
    SystemCall::new(314, 274),
];
/// Calls that set a priority, `setpriority` and `ioprio_set`. Each has the number that means a
/// single process, neither a group nor a user.
const PRIORITIES: [(SystemCall, u64); 2] = [
    (SystemCall::new(141, 140), 0),
    (SystemCall::new(251, 30), 1),
];

/// Refuses changes to all processes but the caller's own.
pub(super) fn refuse_others(target: TargetArch, refused: &mut Refused) -> Result<(), BackendError> {
    let is_other = |position| condition(position, SeccompCmpOp::Ne, 0);
    PRLIMIT64.refuse(target, vec![rule([is_other(0), is_given(2)])?], refused);
    for call in SCHEDULING {
        call.refuse(target, vec![rule([is_other(0)])?], refused);
    }
    for (call, of_process) in PRIORITIES {
        let is_several = condition(0, SeccompCmpOp::Ne, of_process);
        call.refuse(
            target,
            vec![rule([is_several])?, rule([is_other(1)])?],
            refused,
        );
    }
    Ok(())
}
