//! The official clients and tools of the Model Context Protocol.

mod conformance;
mod inspector;
mod python_client;
