//! The adapter of the code host against the fake GitHub.

mod credentials;
mod faults;
mod flows;
mod reads;
mod support;
mod tools;
