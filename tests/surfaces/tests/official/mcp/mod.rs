//! The official Model Context Protocol clients and tools.

mod conformance;
mod inspector;
mod python_client;
