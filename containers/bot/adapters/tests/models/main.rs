//! The model adapters against the fake vendors, over real sockets.

mod anthropic;
mod listing;
mod openai;
mod support;
