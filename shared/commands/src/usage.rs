//! How people see a command: a single line, and the help.

use std::borrow::Cow;

use serde_json::Value;

use crate::{Definition, Field, Input, Kind, coerce::rule, field::Assumed, spelling::kebab};

impl Field {
    /// Returns the name on text surfaces.
    pub fn kebab(&self) -> Cow<'static, str> {
        kebab(self.name)
    }

    /// Returns a value's placeholder. For a map it is the placeholder for an entry's value.
    pub fn placeholder(&self) -> String {
        match self.kind {
            Kind::Map { value, .. } => placeholder(value),
            kind => placeholder(&kind),
        }
    }

    /// Returns meaning, rule and default in a line. For a map it is the rule for an entry's value.
    pub fn help(&self) -> String {
        let default = self
            .default()
            .map_or_else(String::new, |value| format!(" [default: {}]", shown(value)));
        let rule = match self.kind {
            Kind::Map { value, .. } => rule(value),
            kind => rule(&kind),
        };
        format!("{}; must {rule}{default}", self.about)
    }
}

impl Definition {
    /// Returns the command in a single line, as text surfaces accept it.
    pub fn form(&self) -> String {
        let mut words = vec![self.group().to_owned(), self.verb().to_owned()];
        words.extend(
            self.args
                .iter()
                .map(|field| optional(field, format!("<{}>", kebab(field.name)))),
        );
        words.extend(
            self.options
                .iter()
                .map(|field| optional(field, option(field))),
        );
        words.join(" ")
    }

    /// Returns the command with this input in a single line, defaults included, for people. It is
    /// not quoted, so it may not be input again.
    pub fn with_input(&self, input: &Input) -> String {
        let mut words = vec![self.group().to_owned(), self.verb().to_owned()];
        for field in self.fields() {
            let Some(value) = input.values.get(field.name) else {
                continue;
            };
            let name = kebab(field.name);
            match value {
                Value::Bool(true) => words.push(format!("--{name}")),
                Value::Bool(false) => words.push(format!("--no-{name}")),
                Value::Object(entries) => words.extend(
                    entries
                        .iter()
                        .map(|(key, value)| format!("--{name}.{key} {}", plain(value))),
                ),
                value if self.args.contains(field) => words.push(plain(value)),
                value => words.push(format!("--{name} {}", plain(value))),
            }
        }
        words.join(" ")
    }

    /// Returns the command's help.
    pub fn usage(&self) -> String {
        let mut text = format!("{}\n\nUsage: {}\n", self.about, self.form());
        let rows = |heading: &str, fields: &[Field], name: fn(&Field) -> String| {
            let rows = fields
                .iter()
                .map(|field| format!("  {:<24} {}\n", name(field), field.help()));
            let rows: String = rows.collect();
            if rows.is_empty() {
                rows
            } else {
                format!("\n{heading}:\n{rows}")
            }
        };
        text.push_str(&rows("Arguments", self.args, |field| {
            kebab(field.name).into_owned()
        }));
        text.push_str(&rows("Options", self.options, option));
        text
    }
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn optional(field: &Field, text: String) -> String {
    if field.is_required() {
        text
    } else {
        format!("[{text}]")
    }
}

fn option(field: &Field) -> String {
    let name = kebab(field.name);
    match field.kind {
        Kind::Boolean => format!("--{name}"),
        Kind::Map { key, value } => {
            format!(
                "--{name}.<{}> {}",
                key.placeholder.to_ascii_lowercase(),
                placeholder(value)
            )
        }
        kind => format!("--{name} {}", placeholder(&kind)),
    }
}

fn placeholder(kind: &Kind) -> String {
    match kind {
        Kind::Text { .. } | Kind::Rest { .. } => "TEXT".to_owned(),
        Kind::Integer { .. } | Kind::Duration => "N".to_owned(),
        Kind::Boolean => "BOOL".to_owned(),
        Kind::Choice(words) => words.join("|"),
        Kind::Name(name) => name.placeholder.to_owned(),
        Kind::Map { .. } => "MAP".to_owned(),
    }
}

fn shown(value: Assumed) -> String {
    match value {
        Assumed::Word(word) => word.to_owned(),
        Assumed::Integer(number) => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RawInput, names};

    const LIST: Definition = Definition::read("runs.list", "runs:read", "Lists runs.")
        .with_args(&[Field::required("id", Kind::Name(&names::RUN), "the run")])
        .with_options(&[
            Field::required("mode", Kind::Choice(&["soft", "hard"]), "how"),
            Field::optional("sinceMs", Kind::at_least(0), "finished since"),
            Field::optional("dryRun", Kind::Boolean, "plan only"),
            Field::optional(
                "models",
                Kind::Map {
                    key: &names::AGENT,
                    value: &Kind::Name(&names::MODEL),
                },
                "by agent",
            ),
            Field::optional("limit", Kind::within(1, 200), "most runs").or_integer(50),
        ]);

    #[test]
    fn form_shows_every_argument_and_option() {
        assert_eq!(
            LIST.form(),
            "runs list <id> --mode soft|hard [--since-ms N] [--dry-run] [--models.<agent> PROVIDER/MODEL] [--limit N]"
        );
    }

    #[test]
    fn input_is_shown_with_defaults() {
        let raw = RawInput::Text(
            "r1234 --mode=hard --dry-run --models.coding anthropic/claude-x --since-ms 5".into(),
        );
        assert_eq!(
            LIST.with_input(&LIST.validate(&raw).unwrap()),
            "runs list r1234 --mode hard --since-ms 5 --dry-run --models.coding anthropic/claude-x --limit 50"
        );
    }

    #[test]
    fn usage_names_rules_and_defaults() {
        let usage = LIST.usage();
        assert!(
            usage.starts_with("Lists runs.\n\nUsage: runs list <id>"),
            "{usage}"
        );
        assert!(
            usage.contains("most runs; must be an integer from 1 to 200 [default: 50]\n"),
            "{usage}"
        );
        assert!(usage.contains("\nArguments:\n  id "), "{usage}");
        let models = format!(
            "  --models.<agent> PROVIDER/MODEL by agent; must {}\n",
            names::MODEL.rule
        );
        assert!(usage.contains(&models), "{usage}");
    }
}
