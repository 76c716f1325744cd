//! The end of a run: its regular courses as tables, and every order of inputs against a model of the world.

mod courses;
mod every_order;
mod world;
