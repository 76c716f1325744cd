//! `ars setup`: an operator's steps before a surface works for the first time.

mod slack;

pub use slack::run as slack;
