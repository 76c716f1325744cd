//! The bot's configuration: the user's own file with the sample repository added, or one made here.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::data_dir::{DataDir, write_private};
use super::environment::set;
use super::options::Options;
use super::sample;

/// The file, in the data directory.
const FILE: &str = "ars.toml";
/// The default configuration. The grant is for the stop button of the run pages.
const OWN: &str = "\
# Written by `cargo xtask up` at every start; give it --config FILE to use your own.
[grants.\"access:loopback\"]
actions = [\"runs:write\"]
";
/// The default configuration of a bot in a container.
/// Its callers are never on the same machine, so its pages need a secret.
const OWN_IN_CONTAINER: &str = "\
# Written by `cargo xtask up` at every start; give it --config FILE to use your own.
[dashboard]
auth = \"token\"
token = { actor = \"access:operator\" }

[grants.\"access:operator\"]
actions = [\"runs:write\"]
channels = \"all\"
";

/// Returns whether the variables of an access proxy are set, which admits viewers of the run pages.
pub fn has_proxy(variable: impl Fn(&str) -> Option<String>) -> bool {
    ["ACCESS_TEAM_DOMAIN", "ACCESS_AUD"].iter().all(|name| variable(name).is_some())
}

/// Returns the text of the configuration without the sample: the user's own, or the default.
pub fn text(options: &Options) -> Result<String> {
    match &options.config {
        Some(own) => fs::read_to_string(own).with_context(|| format!("cannot read {}", own.display())),
        None if options.containers && !has_proxy(set) => Ok(OWN_IN_CONTAINER.to_owned()),
        None => Ok(OWN.to_owned()),
    }
}

/// Returns the format of the configuration.
pub fn format_of(options: &Options) -> &'static str {
    options.config.as_deref().map_or("toml", format)
}

/// Returns the configuration file of the bot: the user's own, if it needs no addition.
pub fn write(options: &Options, data: &DataDir, sample: &Path) -> Result<PathBuf> {
    if let Some(own) = options.config.as_ref().filter(|_| !options.offers_sample()) {
        return Ok(own.clone());
    }
    ensure!(format_of(options) == "toml", "the sample is added to TOML files only: use --no-demo");
    let text = text(options)?;
    let path = data.join(FILE);
    write_private(&path, &with_sample(&text, sample)?)?;
    Ok(path)
}

/// Returns the format of a configuration by its extension, as the bot chooses it.
pub fn format(path: &Path) -> &'static str {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "yaml" | "yml" => "yaml",
        "json" => "json",
        _ => "toml",
    }
}

/// Appended, so that the lines the bot may complain about keep their numbers.
fn with_sample(text: &str, sample: &Path) -> Result<String> {
    let origin = serde_json::to_string(&sample.to_string_lossy())?;
    Ok(format!("{}\n\n[[repositories]]\nname = \"{}\"\norigin = {origin}\n", text.trim_end(), sample::NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_is_added_to_what_is_there() {
        let own =
            "[[repositories]]\nname = \"acme/app\"\norigin = \"/srv/app\"\n[defaults]\nagent = \"coding\"\n";
        for text in [OWN, own] {
            let table: toml::Table = with_sample(text, Path::new("/a \"b\"/c")).unwrap().parse().unwrap();
            let last = table["repositories"].as_array().unwrap().last().unwrap();
            assert_eq!(
                (last["name"].as_str(), last["origin"].as_str()),
                (Some(sample::NAME), Some("/a \"b\"/c"))
            );
        }
    }
}
