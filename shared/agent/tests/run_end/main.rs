//! The end of a run: its regular courses as tables, and every order of inputs against a world model.

mod courses;
mod every_order;
mod world;
