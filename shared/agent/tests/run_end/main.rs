//! A run's end: the regular courses as tables, and every input order against a world model.

mod courses;
mod every_order;
mod world;
