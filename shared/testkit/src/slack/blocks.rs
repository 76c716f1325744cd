//! Slack's rules for blocks in messages.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{api::Answer, state::Workspace};

/// Maximum blocks in a message.
const BLOCKS_MAX: usize = 50;
/// Maximum characters in a block's or an element's id.
const ID_MAX: usize = 255;
/// Maximum characters in a section's text.
const SECTION_MAX: usize = 3_000;
/// Maximum fields in a section.
const FIELDS_MAX: usize = 10;
/// Maximum characters in a section's field.
const FIELD_MAX: usize = 2_000;
/// Maximum characters in a header.
const HEADER_MAX: usize = 150;
/// Maximum elements in a context block.
const CONTEXT_MAX: usize = 10;
/// Maximum elements in an actions block.
const ACTIONS_MAX: usize = 25;
/// Maximum characters in a button's label.
const LABEL_MAX: usize = 75;
/// Maximum characters in a button's value, and in an image's description.
const VALUE_MAX: usize = 2_000;
/// Maximum characters in a button's or image's address.
const URL_MAX: usize = 3_000;
/// Maximum characters in all Markdown blocks of a message.
const MARKDOWN_MAX: usize = 12_000;
/// Maximum characters in all blocks; Slack does not document it (bolt-js issue 2509).
const TOTAL_MAX: usize = 13_200;
/// Deepest indentation of a list.
const INDENT_MAX: u64 = 8;

type Checked = Result<(), String>;

/// Checks the blocks of a message. Returns them with a `block_id` each; null is no blocks.
///
/// # Errors
/// Returns the answer to blocks that Slack rejects.
pub(super) fn check(workspace: &mut Workspace, blocks: &Value) -> Result<Vec<Value>, Answer> {
    let blocks = match blocks {
        Value::Null => return Ok(Vec::new()),
        Value::Array(blocks) => blocks.clone(),
        _ => return Err(Answer::error("invalid_blocks_format")),
    };
    let mut broken = Vec::new();
    if blocks.len() > BLOCKS_MAX {
        broken.push(format!(
            "no more than {BLOCKS_MAX} items allowed [json-pointer:/blocks]"
        ));
    }
    for (index, block) in blocks.iter().enumerate() {
        if let Err(rule) = check_block(block) {
            broken.push(format!("{rule} [json-pointer:/blocks/{index}]"));
        }
    }
    let ids: Vec<&str> = blocks
        .iter()
        .filter_map(|one| one["block_id"].as_str())
        .collect();
    if ids.iter().collect::<BTreeSet<_>>().len() < ids.len() {
        broken.push("a block_id is used twice [json-pointer:/blocks]".to_owned());
    }
    let markdown = blocks
        .iter()
        .filter(|one| one["type"] == "markdown")
        .map(characters);
    if markdown.sum::<usize>() > MARKDOWN_MAX {
        broken.push(format!(
            "Markdown is over {MARKDOWN_MAX} characters [json-pointer:/blocks]"
        ));
    }
    if !broken.is_empty() {
        let messages: Vec<String> = broken
            .iter()
            .map(|rule| format!("[ERROR] {rule}"))
            .collect();
        let metadata = json!({ "response_metadata": { "messages": messages }, "errors": broken });
        return Err(Answer::error_with("invalid_blocks", metadata));
    }
    if blocks.iter().map(characters).sum::<usize>() > TOTAL_MAX {
        return Err(Answer::error("msg_blocks_too_long"));
    }
    Ok(blocks
        .into_iter()
        .map(|block| identified(workspace, block))
        .collect())
}

fn identified(workspace: &mut Workspace, mut block: Value) -> Value {
    if block["block_id"].as_str().is_none_or(str::is_empty) {
        block["block_id"] = workspace.id("b").into();
    }
    block
}

/// Returns the characters in all texts of a block.
fn characters(value: &Value) -> usize {
    match value {
        Value::Array(values) => values.iter().map(characters).sum(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| match value {
                Value::String(text) if name == "text" || name == "title" => text.chars().count(),
                Value::String(_) => 0,
                other => characters(other),
            })
            .sum(),
        _ => 0,
    }
}

fn check_block(block: &Value) -> Checked {
    if !block["block_id"].is_null() {
        text(&block["block_id"], ID_MAX, "block_id")?;
    }
    match block["type"].as_str() {
        Some("section") => section(block),
        Some("header") => text_object(&block["text"], HEADER_MAX, &["plain_text"]),
        Some("context") => {
            for element in items(block, "elements", CONTEXT_MAX)? {
                match element["type"].as_str() {
                    Some("image") => image(element)?,
                    _ => text_object(element, SECTION_MAX, &["mrkdwn", "plain_text"])?,
                }
            }
            Ok(())
        }
        Some("actions") => items(block, "elements", ACTIONS_MAX)?
            .iter()
            .try_for_each(button),
        Some("divider") => Ok(()),
        Some("image") => image(block),
        Some("markdown") => text(&block["text"], MARKDOWN_MAX, "text"),
        Some("rich_text") => items(block, "elements", usize::MAX)?
            .iter()
            .try_for_each(rich_text),
        Some("plan") => text(&block["title"], usize::MAX, "title"),
        Some("task_card") => {
            text(&block["task_id"], ID_MAX, "task_id")?;
            text(&block["title"], usize::MAX, "title")
        }
        other => Err(format!("unsupported type: {}", other.unwrap_or("none"))),
    }
}

fn section(block: &Value) -> Checked {
    if block["text"].is_null() && block["fields"].is_null() {
        return Err("missing required field: text".to_owned());
    }
    if !block["text"].is_null() {
        text_object(&block["text"], SECTION_MAX, &["mrkdwn", "plain_text"])?;
    }
    if !block["fields"].is_null() {
        for field in items(block, "fields", FIELDS_MAX)? {
            text_object(field, FIELD_MAX, &["mrkdwn", "plain_text"])?;
        }
    }
    match block["accessory"]["type"].as_str() {
        None => Ok(()),
        Some("image") => image(&block["accessory"]),
        Some(_) => button(&block["accessory"]),
    }
}

fn button(element: &Value) -> Checked {
    if element["type"] != "button" {
        return Err(format!("unsupported element: {}", element["type"]));
    }
    text_object(&element["text"], LABEL_MAX, &["plain_text"])?;
    for (name, most) in [
        ("action_id", ID_MAX),
        ("value", VALUE_MAX),
        ("url", URL_MAX),
    ] {
        if !element[name].is_null() {
            text(&element[name], most, name)?;
        }
    }
    match element["style"].as_str() {
        None | Some("primary" | "danger") => Ok(()),
        Some(style) => Err(format!("unknown style: {style}")),
    }
}

fn image(element: &Value) -> Checked {
    if element["slack_file"].is_null() {
        text(&element["image_url"], URL_MAX, "image_url")?;
    }
    text(&element["alt_text"], VALUE_MAX, "alt_text")
}

fn rich_text(element: &Value) -> Checked {
    match element["type"].as_str() {
        Some("rich_text_list") => {
            if !matches!(element["style"].as_str(), Some("bullet" | "ordered")) {
                return Err("a list needs the style bullet or ordered".to_owned());
            }
            if element["indent"]
                .as_u64()
                .is_some_and(|indent| indent > INDENT_MAX)
            {
                return Err(format!("indent is over {INDENT_MAX}"));
            }
            for item in items(element, "elements", usize::MAX)? {
                if item["type"] != "rich_text_section" {
                    return Err("a list has sections only".to_owned());
                }
                rich_text(item)?;
            }
            Ok(())
        }
        Some("rich_text_section" | "rich_text_preformatted" | "rich_text_quote") => {
            let elements = element["elements"].as_array();
            let elements = elements.ok_or("missing required field: elements")?;
            elements.iter().try_for_each(rich_text_part)
        }
        other => Err(format!(
            "unsupported rich text: {}",
            other.unwrap_or("none")
        )),
    }
}

fn rich_text_part(part: &Value) -> Checked {
    let required = match part["type"].as_str() {
        Some("text") => "text",
        Some("link") => "url",
        Some("emoji") => "name",
        Some("user") => "user_id",
        Some("channel") => "channel_id",
        Some("usergroup") => "usergroup_id",
        Some("broadcast") => "range",
        Some("date") => return Ok(()),
        other => return Err(format!("unsupported element: {}", other.unwrap_or("none"))),
    };
    text(&part[required], usize::MAX, required)?;
    let Some(style) = part["style"].as_object() else {
        return Ok(());
    };
    let known = ["bold", "italic", "strike", "code", "underline", "highlight"];
    match style
        .iter()
        .find(|(name, on)| !known.contains(&name.as_str()) || !on.is_boolean())
    {
        Some((name, _)) => Err(format!("unknown style: {name}")),
        None => Ok(()),
    }
}

fn text_object(object: &Value, most: usize, types: &[&str]) -> Checked {
    let kind = object["type"].as_str().unwrap_or("none");
    if !types.contains(&kind) {
        return Err(format!("unsupported text type: {kind}"));
    }
    text(&object["text"], most, "text")
}

/// Checks a text that is not empty.
fn text(value: &Value, most: usize, name: &str) -> Checked {
    match value.as_str().map(|text| text.chars().count()) {
        None => Err(format!("missing required field: {name}")),
        Some(0) => Err(format!("must be more than 0 characters: {name}")),
        Some(count) if count > most => {
            Err(format!("must be less than {} characters: {name}", most + 1))
        }
        Some(_) => Ok(()),
    }
}

/// Returns a list that is not empty.
fn items<'a>(block: &'a Value, name: &str, most: usize) -> Result<&'a Vec<Value>, String> {
    match block[name].as_array() {
        None => Err(format!("missing required field: {name}")),
        Some(found) if found.is_empty() => Err(format!("must have at least 1 item: {name}")),
        Some(found) if found.len() > most => {
            Err(format!("no more than {most} items allowed: {name}"))
        }
        Some(found) => Ok(found),
    }
}
