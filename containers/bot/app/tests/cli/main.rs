//! The built binary, run as a user runs it: a real git repository, real processes and signals, a fake vendor or a
//! rehearsal for the model, and the embedded store read back from its file.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod ask;
mod doctor;
mod followers;
mod friction;
mod interrupts;
#[cfg(not(feature = "kill-points"))]
mod kill_points;
mod parity;
mod refusals;
mod registry;
mod serve;
mod shutdown;
mod support;
mod surface;
