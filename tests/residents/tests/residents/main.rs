//! Residents in real containers: the daemon as root, its users, git over HTTP, and archives.
//!
//! Not here: the decisions (`shared/resident`) and each step of the daemon (`containers/resident/sandboxd`).

mod life;
mod soak;
mod subjects;
