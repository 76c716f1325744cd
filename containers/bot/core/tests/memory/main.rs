//! Memory in runs, over the real store on SQLite and a scripted model.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod deps;
mod hostile;
mod recall;
mod reflect;
mod support;
