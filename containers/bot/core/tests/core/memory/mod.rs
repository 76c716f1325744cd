//! Memory in runs, over the real store on SQLite and scripted models.

mod deps;
mod hostile;
mod recall;
mod reflect;
mod runs;
pub mod support;
