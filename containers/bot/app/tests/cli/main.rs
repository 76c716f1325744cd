//! The built binary, run as a user runs it, with a real git repository, real processes and signals.
//! The model is a fake vendor or a rehearsal, and the embedded store is read back from the file.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on fails"
)]

mod ask;
mod ask_remote;
mod connections;
mod doctor;
mod egress;
mod followers;
mod friction;
mod interrupts;
#[cfg(not(feature = "kill-points"))]
mod kill_points;
mod parity;
mod refusals;
mod registry;
mod residents;
mod serve;
mod shutdown;
mod slack;
mod soak;
mod subjects;
mod support;
mod surface;
mod tree_folder;
mod webhooks;
