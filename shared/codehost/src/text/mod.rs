//! Text on the way to and from the code host.

mod code_spans;
mod cut;
mod lines;
mod marker;
mod neutral;

pub use code_spans::code_spans;
pub use cut::{MAX_BODY_CHARS, cut_block};
pub use marker::{hidden_marker, markers};
pub use neutral::{neutral_block, neutral_line};
