//! The model: plain maps, and a method per request that returns the response and updates the state.
//!
//! Derived from the contract, never from the store, so that the two check each other. Where the
//! contract leaves a choice, the method documents the decision.

mod answer;
mod apply;
mod flush;
mod history;
mod owner;
mod reclaim;
mod row;
mod rules;
mod state;
mod transcript;
mod unfenced;

pub use state::Model;
