//! The bot's configuration: the user's own file with the sample repository added, or one made here.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::data_dir::{DataDir, write_private};
use super::options::Options;
use super::sample;

/// The file, in the data directory.
const FILE: &str = "ars.toml";
/// The default configuration. The grant is for the stop button of the run pages.
pub const OWN: &str = "\
# Written by `cargo xtask up` at every start; give it --config FILE to use your own.
[grants.\"access:loopback\"]
actions = [\"runs:write\"]
";

/// Returns the configuration file of the bot: the user's own, if it needs no addition.
pub fn write(options: &Options, data: &DataDir, sample: &Path) -> Result<PathBuf> {
    let text = match &options.config {
        Some(own) if !options.offers_sample() => return Ok(own.clone()),
        Some(own) => {
            ensure!(format(own) == "toml", "the sample is added to TOML files only: use --no-demo");
            fs::read_to_string(own).with_context(|| format!("cannot read {}", own.display()))?
        }
        None => OWN.to_owned(),
    };
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
