//! The fakes as used by the vendors' clients, and our clients' requests as parsed by the vendors' types.

mod anthropic;
mod openai;
mod ours;
