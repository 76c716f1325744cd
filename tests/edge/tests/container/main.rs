//! The bot in a real container, started by the edge: what passes through is what the bot said, and whatever ends the
//! container, its runs are finished or closed honestly and there is never a second one (document 1 sections 4.6 and 7,
//! resident supplement 13).
#![expect(clippy::unwrap_used, reason = "a proof that cannot go on fails with its cause")]

mod passing;
mod smuggling;
mod streams;
mod troubles;
