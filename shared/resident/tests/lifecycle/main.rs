//! The lifecycle on a simulated platform.

mod incidents;
mod model;
mod table;
mod world;
