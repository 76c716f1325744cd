//! The tools with the schemas of their output.

use std::{iter, sync::Arc};

use ars_bot_core::commands::Commands;
use ars_commands::{Definition, Effect, Surface};
use rmcp::model::{CacheScope, ListToolsResult, Tool, ToolAnnotations};
use serde_json::{Map, Value};

use super::methods::DESCRIPTION_MAX_AGE_MS;
use crate::surfaces::mcp::{envelope::object, tools};

/// Returns the tools in the order of the list.
pub(super) fn list(commands: &Commands) -> ListToolsResult {
    let of_commands = commands.registry().on(Surface::Mcp).map(|definition| of_command(commands, definition));
    ListToolsResult::with_all_items(iter::once(dispatch()).chain(of_commands).collect())
        .with_ttl_ms(DESCRIPTION_MAX_AGE_MS)
        .with_cache_scope(CacheScope::Private)
}

fn dispatch() -> Tool {
    let ars_wire::mcp::Tool { name, description, input_schema } = tools::dispatch();
    // The work of an agent is as open as its own tools.
    let annotations = ToolAnnotations::from_raw(None, Some(false), Some(true), Some(false), Some(true));
    Tool::new(name, description, schema(input_schema)).with_annotations(annotations)
}

fn of_command(commands: &Commands, definition: &'static Definition) -> Tool {
    let is_destructive = match definition.effect {
        Effect::Read => None,
        Effect::Write => Some(false),
        Effect::Destructive => Some(true),
    };
    let annotations =
        ToolAnnotations::from_raw(None, Some(is_destructive.is_none()), is_destructive, None, Some(false));
    let tool = Tool::new(definition.tool_name(), definition.about, schema(definition.input_schema()))
        .with_annotations(annotations);
    match commands.output_schema(definition.id) {
        Some(output) => tool.with_raw_output_schema(schema(output)),
        None => tool,
    }
}

fn schema(value: Value) -> Arc<Map<String, Value>> {
    Arc::new(object(Some(value)))
}
