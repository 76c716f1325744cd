//! Tests every output: log lines, spans as a collector decodes them, metrics as text.

mod collector;
mod lines;
mod metrics;
mod secrets;
mod support;
