//! `cargo xtask configure`: writes a configuration to the state Worker.
//!
//! A bot with `SERVICE_CONFIG=state://base` reads it there when it starts. The state Worker's
//! bearer comes from the environment.
//!
//! Not here: validation, which `ars serve --config FILE` does.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::up::{configuration_format, put_configuration};

/// The bearer's variable.
const MEMORY_TOKEN: &str = "MEMORY_TOKEN";

/// Options of `cargo xtask configure`.
#[derive(Debug, Args)]
pub struct Options {
    /// Address of the state Worker
    #[arg(long, value_name = "URL")]
    pub state_url: String,
    /// The configuration
    pub file: PathBuf,
}

/// Writes it and prints its version.
pub fn run(options: &Options) -> Result<()> {
    let text = fs::read_to_string(&options.file)
        .with_context(|| format!("cannot read {}", options.file.display()))?;
    let format = configuration_format(&options.file);
    check_syntax(options, format, &text)?;
    let token =
        std::env::var(MEMORY_TOKEN).with_context(|| format!("{MEMORY_TOKEN} is not set"))?;
    let version = put_configuration(
        options.state_url.trim_end_matches('/'),
        token.trim(),
        format,
        &text,
    )?;
    println!("version {version}; a bot reads it when it starts");
    Ok(())
}

/// Checks the syntax of TOML and JSON; the bot validates the content, and YAML.
fn check_syntax(options: &Options, format: &str, text: &str) -> Result<()> {
    let fault = match format {
        "toml" => toml::from_str::<toml::Table>(text).err().map(|error| {
            error
                .span()
                .map_or(0, |span| text[..span.start].matches('\n').count())
                + 1
        }),
        "json" => serde_json::from_str::<serde_json::Value>(text)
            .err()
            .map(|error| error.line()),
        _ => None,
    };
    match fault {
        Some(line) => bail!(
            "{}: line {line} is not valid {format}",
            options.file.display()
        ),
        None => Ok(()),
    }
}
