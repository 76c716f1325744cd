//! Whole requests in-process against a scripted model: runs, and commands in messages.

mod command_runs;
mod commands;
mod confirmations;
mod onboarded;
mod requests;
