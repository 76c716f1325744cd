//! After each connection: missed messages, and the cards of interrupted runs.

mod missed;
mod orphans;
mod run;

pub(crate) use run::run;
