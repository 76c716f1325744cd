//! Slack, from the socket's event to the calls of the Web API, with the binary and a fake workspace.

mod confirm;
mod edits;
mod faults;
mod kills;
mod restarts;
mod set_up;
mod streams;
mod threads;
mod world;
