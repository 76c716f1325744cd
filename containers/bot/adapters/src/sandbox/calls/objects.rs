//! Refuses calls that reach the user's objects without a path: System V IPC, message queues and
//! keys.
//!
//! Landlock has no right for them, and a shared segment or a key belongs to the user's other
//! programs. They are refused as a whole, because another program's object is opened by a number
//! like a program's own.

use seccompiler::TargetArch;

use super::number::{Refused, SystemCall};

/// System V IPC: memory segments, semaphores, and message queues.
const SYSTEM_V: [SystemCall; 11] = [
    SystemCall::new(29, 194),
    SystemCall::new(30, 196),
    SystemCall::new(31, 195),
    SystemCall::new(64, 190),
    SystemCall::new(65, 193),
    SystemCall::new(66, 191),
    SystemCall::new(68, 186),
    SystemCall::new(69, 189),
    SystemCall::new(70, 188),
    SystemCall::new(71, 187),
    SystemCall::new(220, 192),
];
/// Message queue calls: `mq_open` and `mq_unlink`.
const QUEUES: [SystemCall; 2] = [SystemCall::new(240, 180), SystemCall::new(241, 181)];
/// `add_key`, `request_key` and `keyctl`.
const KEYS: [SystemCall; 3] = [
    SystemCall::new(248, 217),
    SystemCall::new(249, 218),
    SystemCall::new(250, 219),
];

/// Refuses all these calls.
pub(super) fn refuse_objects(target: TargetArch, refused: &mut Refused) {
    for call in SYSTEM_V.into_iter().chain(QUEUES) {
        call.refuse(target, Vec::new(), refused);
    }
    refuse_keys(target, refused);
}

/// Refuses the keys: a session has them across all namespaces.
pub(super) fn refuse_keys(target: TargetArch, refused: &mut Refused) {
    for call in KEYS {
        call.refuse(target, Vec::new(), refused);
    }
}
