//! Resumes orphaned runs: handed off, or with an expired lease (docs/reference/ledger.md#reclaim).
//!
//! Each reclaimed run is resumed here under its own id and stream, or closed with a record. Not
//! here: deciding between the two (`ars_agent::resume`).

mod close;
mod prepare;
mod published;
mod queued;
mod read;
mod reclaim_loop;
mod reserved;
mod resume_or_close;
mod spans;
mod stored;
mod tree;

pub(crate) use reclaim_loop::reclaim_loop;
