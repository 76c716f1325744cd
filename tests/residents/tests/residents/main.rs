//! Residents in real containers: the daemon as root, the users, git over HTTP, and archives.
//!
//! Not here: the decisions (`shared/resident`) and each daemon step
//! (`containers/resident/sandboxd`).

mod life;
mod soak;
mod subjects;
