//! The rules, each in a file.

pub mod attributes;
pub mod circles;
pub mod citations;
mod constants;
pub mod declarations;
pub mod dependencies;
pub mod durable_objects;
pub mod emptiness;
pub mod evidence;
pub mod habits;
pub mod headers;
pub mod hosts;
pub mod images;
pub mod language;
pub mod manifests;
pub mod messages;
pub mod migrations;
pub mod module_circles;
pub mod named_paths;
pub mod purity;
pub mod reference;
pub mod request_path;
pub mod sizes;
pub mod sleeps;
pub mod sql_text;
pub mod unfinished;
