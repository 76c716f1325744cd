//! The model adapters against the fake vendors, over real sockets.

mod anthropic;
mod openai;
mod support;
