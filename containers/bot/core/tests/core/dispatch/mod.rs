//! Whole requests in-process against a scripted model: runs, and commands in messages.

mod command_runs;
mod commands;
mod onboarded;
mod requests;
