//! The tools: `dispatch`, and every command that is visible on this surface.

use std::iter;

use ars_commands::{Definition, Registry, Surface};
use ars_wire::mcp::Tool;
use serde_json::json;

/// The tool that sends a request to an agent.
/// No command has this name, because a command's has two words.
pub(super) const DISPATCH: &str = "dispatch";

/// Returns the tools in the order of the list.
pub(super) fn list(registry: &Registry) -> Vec<Tool> {
    iter::once(dispatch()).chain(registry.on(Surface::Mcp).map(of_command)).collect()
}

fn of_command(definition: &Definition) -> Tool {
    Tool {
        name: definition.tool_name(),
        description: definition.about.to_owned(),
        input_schema: definition.input_schema(),
    }
}

/// Returns the tool `dispatch`.
pub(super) fn dispatch() -> Tool {
    Tool {
        name: DISPATCH.to_owned(),
        description: "Sends a request to the service and returns its reply when the work has ended."
            .to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "text": { "type": "string", "description": "the request, as a person would write it" },
                "thread": {
                    "type": "string",
                    "description": "the conversation; requests of one thread share their history and working tree",
                },
                "channel": {
                    "type": "string",
                    "description": "the channel of the thread; a channel that the token pins overrides it",
                },
            },
            "required": ["text"],
        }),
    }
}

#[cfg(test)]
mod tests {
    use ars_commands::Surfaces;

    use super::*;

    const LIST: Definition = Definition::read("runs.list", "runs:read", "Lists runs.");
    const LOCAL: Definition =
        Definition::read("friction.analyze", "friction:read", "Analyzes.").on(Surfaces::CLI);

    #[test]
    fn dispatch_is_the_first_tool() {
        let registry = Registry::new(&[&LIST, &LOCAL], &[]).unwrap();
        let names: Vec<_> = list(&registry).into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, ["dispatch", "runs_list"]);
        assert_eq!(list(&Registry::default()).len(), 1);
    }
}
