//! Skills from a folder, held in memory (bot supplement section 16).
//!
//! A folder is read once, when the service starts: a skill that cannot be read is found then, not in a run. Not here:
//! the port (`ars-bot-ports`) and the skills that are shipped (`containers/bot/skills`).

mod directory;
mod front_matter;
mod memory;

pub use directory::{SkillError, load};
pub use memory::MemorySkills;
