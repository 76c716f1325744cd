//! The fakes as the vendors' own clients see them, and our clients' requests as the vendors' own types see them.

mod anthropic;
mod openai;
mod ours;
