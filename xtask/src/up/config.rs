//! The bot's configuration: the user's own file with the sample repository, or a new file.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use super::data_dir::{DataDir, write_private};
use super::environment::set;
use super::options::Options;
use super::sample;
use super::secrets::{DASHBOARD_TOKEN, INGRESS_TOKENS};

/// The default configuration text.
const OWN: &str =
    "# Written by `cargo xtask up` at every start; give it --config FILE to use your own.\n";
/// The actor that holds the run pages' secret.
const OPERATOR: &str = "access:operator";
/// The gate when the configuration names none: the run pages' secret. It shows all runs.
const GATE: &str = "
[dashboard]
auth = \"token\"
token = { actor = \"access:operator\" }

[grants.\"access:operator\"]
channels = \"all\"
";
/// Actions if the secret comes from this start, which `up` prints: all commands.
const ALL_ACTIONS: &str = "actions = [\"runs:write\", \"config:write\", \"memory:write\", \"repo:write\", \"repo:exec\"]\n";
/// Actions if the secret is configured. People who only view runs may know it.
const PAGE_ACTIONS: &str = "actions = [\"runs:write\"]\n";
/// Grants for the ingress token `operator` that is made here. Own tokens have their own.
const OF_INGRESS: &str = "
[grants.\"http:operator\"]
channels = \"all\"

[grants.\"mcp:operator\"]
channels = \"all\"
";

/// A configuration without the sample.
pub struct Effective {
    /// `toml`, `yaml` or `json`.
    pub format: &'static str,
    /// The configuration's text.
    pub text: String,
    /// Whether it differs from the user's own file.
    is_changed: bool,
}

impl Effective {
    /// Returns the user's own configuration, or the default. If it names no dashboard mode, it
    /// receives mode `token`.
    pub fn read(options: &Options) -> Result<Self> {
        let Some(own) = &options.config else {
            return Ok(Self::gated("toml", OWN.to_owned(), set));
        };
        let text =
            fs::read_to_string(own).with_context(|| format!("cannot read {}", own.display()))?;
        Ok(Self::gated(format(own), text, set))
    }

    fn gated(
        format: &'static str,
        text: String,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Self {
        // The bot reports what is wrong with a malformed text.
        let parsed = parsed(&text, format).filter(|root| root["dashboard"]["auth"].is_null());
        let Some(mut root) = parsed.filter(|_| !has_proxy(&variable)) else {
            return Self {
                format,
                text,
                is_changed: false,
            };
        };
        let of_ingress = if variable(INGRESS_TOKENS).is_none() {
            OF_INGRESS
        } else {
            ""
        };
        let actions = if variable(DASHBOARD_TOKEN).is_none() {
            ALL_ACTIONS
        } else {
            PAGE_ACTIONS
        };
        let gate = format!("{GATE}{actions}{of_ingress}");
        let grants: Value = toml::from_str(&gate).unwrap_or_default();
        let grants = grants["grants"].as_object().cloned().unwrap_or_default();
        let is_granted = |actor: &String| !root["grants"][actor].is_null();
        let is_free = root["dashboard"].is_null() && !grants.keys().any(is_granted);
        if format == "toml" && is_free {
            // Appended, so that the lines the bot may complain about keep their numbers.
            return Self {
                format,
                text: format!("{}\n{gate}", text.trim_end()),
                is_changed: true,
            };
        }
        root["dashboard"]["auth"] = json!("token");
        if root["dashboard"]["token"]["actor"].is_null() {
            root["dashboard"]["token"]["actor"] = json!(OPERATOR);
            for (actor, grant) in grants {
                if root["grants"][&actor].is_null() {
                    root["grants"][actor] = grant;
                }
            }
        }
        Self {
            format: "json",
            text: root.to_string(),
            is_changed: true,
        }
    }

    /// Returns the configuration's `dashboard` section.
    pub fn dashboard(&self) -> Value {
        parsed(&self.text, self.format)
            .map(|root| root["dashboard"].clone())
            .unwrap_or_default()
    }
}

/// Returns the content, or `None` if it is malformed or no table.
fn parsed(text: &str, format: &str) -> Option<Value> {
    let parsed: Option<Value> = match format {
        "json" => serde_json::from_str(text).ok(),
        "yaml" => serde_saphyr::from_str(text).ok(),
        _ => toml::from_str(text).ok(),
    };
    parsed.filter(|root| {
        root.is_object()
            && ["dashboard", "grants"]
                .iter()
                .all(|key| root.get(key).is_none_or(Value::is_object))
    })
}

/// Returns whether an access proxy's variables are set, which admits viewers of the run pages.
pub fn has_proxy(variable: impl Fn(&str) -> Option<String>) -> bool {
    ["ACCESS_TEAM_DOMAIN", "ACCESS_AUD"]
        .iter()
        .all(|name| variable(name).is_some())
}

/// Returns the bot's configuration file: the user's own, if it needs no addition. `sample` is the
/// sample repository's origin, `added` a text in TOML for other parts, or empty.
pub fn write(options: &Options, data: &DataDir, sample: &str, added: &str) -> Result<PathBuf> {
    let found = Effective::read(options)?;
    if let Some(own) = options
        .config
        .as_ref()
        .filter(|_| !options.offers_sample() && !found.is_changed && added.is_empty())
    {
        return Ok(own.clone());
    }
    let path = data.join("ars").with_extension(found.format);
    write_private(&path, &completed(options, found, sample, added)?)?;
    Ok(path)
}

/// Returns a configuration's text with the sample, if it is offered, and with `added`.
pub fn completed(options: &Options, found: Effective, sample: &str, added: &str) -> Result<String> {
    let mut text = if options.offers_sample() {
        ensure!(
            found.format == "toml",
            "the sample is added to TOML files only: use --no-demo"
        );
        with_sample(&found.text, sample)?
    } else {
        found.text
    };
    if !added.is_empty() {
        ensure!(
            found.format == "toml",
            "--residents and --slack add to TOML files only"
        );
        if let Some(name) = repeated(&text, added) {
            bail!("the configuration has `{name}`, which --residents or --slack adds");
        }
        text.push_str(added);
    }
    Ok(text)
}

/// Returns a table that both texts have. Only grants may be spread over both.
fn repeated(own: &str, added: &str) -> Option<String> {
    let own = parsed(own, "toml")?;
    let added = parsed(added, "toml")?;
    let tables = added.as_object()?.iter();
    let names = tables.flat_map(|(name, table)| match (name.as_str(), table) {
        ("grants", Value::Object(grants)) => grants
            .keys()
            .map(|actor| format!("/grants/{actor}"))
            .collect(),
        _ => vec![format!("/{name}")],
    });
    let mut names = names.filter(|name| own.pointer(name).is_some());
    names.next().map(|name| name[1..].replace('/', "."))
}

/// Returns a configuration's format by extension, as the bot chooses it.
pub fn format(path: &Path) -> &'static str {
    let extension = path
        .extension()
        .and_then(|extension| extension.to_str())
        .unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "yaml" | "yml" => "yaml",
        "json" => "json",
        _ => "toml",
    }
}

/// Appended, so that the lines the bot may complain about keep their numbers.
fn with_sample(text: &str, sample: &str) -> Result<String> {
    let origin = serde_json::to_string(sample)?;
    Ok(format!(
        "{}\n\n[[repositories]]\nname = \"{}\"\norigin = {origin}\n",
        text.trim_end(),
        sample::NAME
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sample_is_added_to_what_is_there() {
        let own = "[[repositories]]\nname = \"acme/app\"\norigin = \"/srv/app\"\n[defaults]\nagent = \"coding\"\n";
        for text in [OWN, own] {
            let table: toml::Table = with_sample(text, "/a \"b\"/c").unwrap().parse().unwrap();
            let last = table["repositories"].as_array().unwrap().last().unwrap();
            assert_eq!(
                (last["name"].as_str(), last["origin"].as_str()),
                (Some(sample::NAME), Some("/a \"b\"/c"))
            );
        }
    }

    #[test]
    fn added_table_must_be_new() {
        let added = "\n[grants.\"slack:U1\"]\n\n[execution]\n";
        for (own, name) in [
            ("", None),
            ("[grants.\"slack:U2\"]", None),
            ("[grants.\"slack:U1\"]", Some("grants.slack:U1")),
            ("[execution]", Some("execution")),
        ] {
            assert_eq!(repeated(own, added).as_deref(), name, "{own}");
        }
    }

    #[test]
    fn gate_is_added_unless_it_is_configured() {
        let none = |_: &str| None;
        let operator = json!({"auth": "token", "token": {"actor": OPERATOR}});
        for (format, text, kept_format) in [
            ("toml", OWN, "toml"),
            ("toml", "[money]\nday = 5\n", "toml"),
            ("toml", "[dashboard]\ntoken = {}\n", "json"),
            ("yaml", "money:\n  day: 5\n", "json"),
            ("json", "{}", "json"),
        ] {
            let gated = Effective::gated(format, text.to_owned(), none);
            assert_eq!(
                (gated.format, gated.dashboard()),
                (kept_format, operator.clone()),
                "{text}"
            );
            let parsed = parsed(&gated.text, gated.format).unwrap();
            for actor in [OPERATOR, "http:operator", "mcp:operator"] {
                assert_eq!(parsed["grants"][actor]["channels"], "all", "{actor}");
            }
        }
        let own_secret = |name: &str| (name == DASHBOARD_TOKEN).then(|| "x".to_owned());
        let gated = Effective::gated("toml", OWN.to_owned(), own_secret);
        assert!(!gated.text.contains("repo:exec") && gated.text.contains("runs:write"));
        let own_tokens = |name: &str| (name == INGRESS_TOKENS).then(|| "{}".to_owned());
        let gated = Effective::gated("toml", OWN.to_owned(), own_tokens);
        assert!(!gated.text.contains("http:operator") && gated.text.contains("access:operator"));
        for (text, proxy) in [
            ("[dashboard]\nauth = \"none\"", false),
            ("", true),
            ("[[broken", false),
        ] {
            let variable = |_: &str| proxy.then(|| "x".to_owned());
            let kept = Effective::gated("toml", text.to_owned(), variable);
            assert_eq!((kept.text.as_str(), kept.is_changed), (text, false));
        }
        let own = "dashboard: {token: {actor: 'access:ann', env: MINE}}";
        let kept = Effective::gated("yaml", own.to_owned(), none).dashboard();
        assert_eq!(
            kept,
            json!({"auth": "token", "token": {"actor": "access:ann", "env": "MINE"}})
        );
    }
}
