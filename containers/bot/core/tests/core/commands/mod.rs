//! Commands over the core, with the real run store in memory.

mod abridging;
mod audit;
mod authorization;
mod config;
mod friction;
mod help;
mod memory;
mod outcomes;
mod outputs;
mod people;
mod proposals;
mod reference;
mod repositories;
mod runs;
mod schedules;
mod support;
