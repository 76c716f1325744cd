//! The command reference as Markdown, for `docs/reference/commands.md`.

use std::fmt::Write as _;

use crate::{
    Capability, Definition, Effect, Field, Kind, Surface, schema::rule_of, spelling::kebab,
};

/// Returns the sections for these commands, with a heading for each group.
pub fn reference(definitions: &[&'static Definition]) -> String {
    let mut text = String::new();
    let mut group = "";
    for definition in definitions {
        if definition.group() != group {
            group = definition.group();
            let _ = write!(text, "\n## {group}\n");
        }
        let _ = write!(text, "\n### {}\n\n{}\n\n", definition.id, definition.about);
        let _ = write!(text, "`{}`\n\n", definition.form());
        facts(definition, &mut text);
        fields(definition, &mut text);
    }
    text
}

fn facts(definition: &Definition, text: &mut String) {
    let surfaces = Surface::ALL
        .into_iter()
        .filter(|surface| definition.surfaces.contain(*surface));
    let surfaces: Vec<&str> = surfaces.map(Surface::as_str).collect();
    let methods = match definition.effect {
        Effect::Read => "GET, POST",
        Effect::Write | Effect::Destructive => "POST",
    };
    let mut facts = vec![
        format!("action `{}`", definition.action),
        format!("effect {}", definition.effect.as_str()),
        format!("surfaces {}", surfaces.join(", ")),
    ];
    if definition.surfaces.contain(Surface::Api) {
        facts.push(format!("`/api/{}` ({methods})", definition.id));
    }
    if definition.surfaces.contain(Surface::Mcp) {
        facts.push(format!("tool `{}`", definition.tool_name()));
    }
    if let Some(capability) = definition.capability {
        facts.push(format!("needs {}", need(capability)));
    }
    if definition.leaves_run {
        facts.push("leaves a run record when a message invokes it".to_owned());
    }
    let _ = writeln!(text, "{}.", facts.join("; "));
}

const fn need(capability: Capability) -> &'static str {
    match capability {
        Capability::Memory => "memory",
        Capability::Schedules => "schedules",
        Capability::CodeHost => "code host",
        Capability::Residents => "residents",
        Capability::Abridger => "abridger",
    }
}

fn fields(definition: &Definition, text: &mut String) {
    if definition.fields().next().is_none() {
        return;
    }
    text.push_str("\n| Field | Value | Default | Meaning |\n|---|---|---|---|\n");
    for field in definition.fields() {
        let is_argument = definition
            .args
            .iter()
            .any(|argument| argument.name == field.name);
        let _ = writeln!(
            text,
            "| {} | must {} | {} | {} |",
            name(field, is_argument),
            rule_of(field).replace('|', "\\|"),
            default(field),
            field.about
        );
    }
}

fn name(field: &Field, is_argument: bool) -> String {
    let kebab = kebab(field.name);
    match field.kind {
        _ if is_argument => format!("`{}`", field.name),
        Kind::Map { .. } => format!("`{}`, `--{kebab}.<agent>`", field.name),
        _ => format!("`{}`, `--{kebab}`", field.name),
    }
}

fn default(field: &Field) -> String {
    match field.default() {
        Some(value) => format!("`{}`", value.to_json().to_string().trim_matches('"')),
        None if field.is_required() => "required".to_owned(),
        None => String::new(),
    }
}
