//! Skills from a folder, kept in memory.
//!
//! A folder is read once, when the service starts, so that an invalid skill is found then and not in a run. Not here:
//! the port (`ars-bot-ports`) and the shipped skills (`containers/bot/skills`).

mod directory;
mod front_matter;
mod loaded;

pub use crate::error::{MalformedSkill, SkillError};
pub use directory::load;
pub use loaded::LoadedSkills;
