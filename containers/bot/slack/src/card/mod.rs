//! Cards: a message per run that always shows the truth, streamed or edited in place.

mod cards;
mod keeper;
mod message;

pub(crate) use cards::{CardHandle, Cards, Origin, RunRow};
