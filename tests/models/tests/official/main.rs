//! The vendors' official clients call the fake vendors, and their types parse the requests of our clients.

mod anthropic;
mod openai;
mod ours;
