//! A skill's file: YAML between two `---` lines, then the body.

use ars_bot_ports::Skill;
use ars_events::SkillUpstream;
use serde::Deserialize;

use crate::error::MalformedSkill;

/// Opens and closes the front matter.
const FENCE: &str = "---";
/// Maximum name length in characters: it stands in prompts and is typed by models.
const NAME_CHARS: usize = 64;
/// Maximum description length in characters: every prompt for the skill's agents holds it.
const DESCRIPTION_CHARS: usize = 1_000;

/// The front matter as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FrontMatter {
    name: String,
    description: String,
    agents: Vec<String>,
    #[serde(default)]
    source: Option<String>,
    #[serde(default)]
    upstream: Option<Upstream>,
}

/// As in the event, but closed: an unknown word is a mistake in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Upstream {
    repo: String,
    commit: String,
}

/// Parses a skill file.
pub(super) fn parse(text: &str) -> Result<Skill, MalformedSkill> {
    let text = text
        .strip_prefix('\u{feff}')
        .unwrap_or(text)
        .replace("\r\n", "\n");
    let (yaml, body) = split(&text)?;
    let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false };
    let matter: FrontMatter = serde_saphyr::from_str_with_options(yaml, options)
        .map_err(|error| MalformedSkill::FrontMatter(error.into()))?;
    let FrontMatter {
        name,
        description,
        agents,
        source,
        upstream,
    } = matter;
    let name = short(&name, NAME_CHARS).ok_or(MalformedSkill::Name)?;
    let description = short(&description, DESCRIPTION_CHARS).ok_or(MalformedSkill::Description)?;
    if agents.is_empty() || agents.iter().any(|agent| agent.trim().is_empty()) {
        return Err(MalformedSkill::Agents);
    }
    let body = body.trim();
    if body.is_empty() {
        return Err(MalformedSkill::NoBody);
    }
    Ok(Skill {
        name,
        description,
        agents,
        source,
        upstream: upstream.map(|Upstream { repo, commit }| SkillUpstream { repo, commit }),
        body: format!("{body}\n"),
    })
}

/// Splits the text into YAML and body.
fn split(text: &str) -> Result<(&str, &str), MalformedSkill> {
    let opened = text
        .strip_prefix(FENCE)
        .and_then(|rest| rest.strip_prefix('\n'));
    let opened = opened.ok_or(MalformedSkill::NotOpened)?;
    let mut at = 0;
    for line in opened.split_inclusive('\n') {
        if line.trim_end() == FENCE {
            return Ok((&opened[..at], &opened[at + line.len()..]));
        }
        at += line.len();
    }
    Err(MalformedSkill::NotClosed)
}

/// Returns the text as a single line; `None` when it is empty, too long, or contains line breaks.
fn short(text: &str, max: usize) -> Option<String> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_plain =
        !line.is_empty() && !line.contains(char::is_control) && line.chars().count() <= max;
    is_plain.then_some(line)
}
