//! The bot's live-run ledger client, through which a run outlasts the process.
//!
//! [`Live`] holds this process's generation. A granted claim is a [`TrackedRun`]: its driver stores
//! each step before any side effect, and ending it acquires the reply permit. The flush loop stores
//! all runs' events, extends their leases, and returns stops and follow-ups that reached the
//! ledger.
//!
//! Not here: the store (`ars_runs` behind a port), reclaiming runs (`lifecycle`), and retrying
//! single requests (the stores' adapter).

mod claim;
mod client;
mod conversation;
mod cursor;
mod flush;
mod limits;
mod meta;
mod permit;
mod queued;
mod rows;
mod tracked;
mod unconfirmed;

pub use claim::LedgerClaim;
pub use client::{Claimed, Live, LiveStores};
use client::{Inner, is_transient};
pub(crate) use conversation::transcript_size;
pub(crate) use limits::{CLAIM_TIMEOUT, LEASE};
pub use meta::Meta;
pub(crate) use queued::QueuedRequest;
pub(crate) use rows::{LiveListing, LiveRow};
pub use tracked::{Step, StepDurability, Stepped, TrackedRun};
pub use unconfirmed::UnconfirmedClaim;
