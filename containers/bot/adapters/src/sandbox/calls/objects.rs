//! Refuses calls that reach the user's objects without a path: System V IPC, message queues and
//! keys.
//!
//! Landlock has no right for them, and a shared segment or a key belongs to the user's other
//! programs. They are refused as a whole, because another program's object is opened by a number
//! like a program's own.

use seccompiler::TargetArch;

use super::number::{Call, Refused};

/// System V IPC: memory segments, semaphores, and message queues.
const SYSTEM_V: [Call; 11] = [
    Call::new(29, 194),
    Call::new(30, 196),
    Call::new(31, 195),
    Call::new(64, 190),
    Call::new(65, 193),
    Call::new(66, 191),
    Call::new(68, 186),
    Call::new(69, 189),
    Call::new(70, 188),
    Call::new(71, 187),
    Call::new(220, 192),
];
/// Message queue calls: `mq_open` and `mq_unlink`.
const QUEUES: [Call; 2] = [Call::new(240, 180), Call::new(241, 181)];
/// `add_key`, `request_key` and `keyctl`.
const KEYS: [Call; 3] = [
    Call::new(248, 217),
    Call::new(249, 218),
    Call::new(250, 219),
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
