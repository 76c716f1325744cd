//! System call numbers, and refusal conditions.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule, TargetArch,
};

/// An architecture's refused calls. A call without a rule is always refused.
pub(super) type Refused = BTreeMap<i64, Vec<SeccompRule>>;

/// A system call. Where it has no number, the architecture has no such call.
#[derive(Clone, Copy)]
pub(super) struct SystemCall {
    x86_64: Option<i64>,
    /// The number on aarch64, riscv64 and later architectures.
    generic: Option<i64>,
}

impl SystemCall {
    pub(super) const fn new(x86_64: i64, generic: i64) -> Self {
        Self {
            x86_64: Some(x86_64),
            generic: Some(generic),
        }
    }

    /// Returns a call that later architectures replace by another call.
    pub(super) const fn old(x86_64: i64) -> Self {
        Self {
            x86_64: Some(x86_64),
            generic: None,
        }
    }

    /// Adds this call with the rules under which it is refused.
    pub(super) fn refuse(self, target: TargetArch, rules: Vec<SeccompRule>, refused: &mut Refused) {
        let number = match target {
            TargetArch::x86_64 => self.x86_64,
            TargetArch::aarch64 | TargetArch::riscv64 => self.generic,
        };
        refused.extend(number.map(|number| (number, rules)));
    }
}

/// Returns the rule that holds if all the conditions do.
pub(super) fn rule<const N: usize>(
    conditions: [Result<SeccompCondition, BackendError>; N],
) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions.into_iter().collect::<Result<_, _>>()?)
}

/// Returns a condition on a 32-bit argument.
pub(super) fn condition(
    position: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(position, SeccompCmpArgLen::Dword, operator, value)
}

/// Returns the condition that a pointer is given.
pub(super) fn is_given(position: u8) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(position, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)
}
