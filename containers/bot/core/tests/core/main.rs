//! The core in-process, against a scripted model and doubles for everything else.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod amending;
mod answers;
mod busy_model;
mod commands;
mod dispatch;
mod draining;
mod files;
mod follow_ups;
mod history_off;
mod live;
mod load;
mod memory;
mod outputs;
mod queries;
mod reviews;
mod spending;
mod steering;
mod support;
mod tool_calls;
