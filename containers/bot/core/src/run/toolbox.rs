//! A run's tools with their descriptions.

use std::sync::Arc;

use ars_agent::ToolSpec;
use ars_bot_tools::{Tool, ToolOutput};

/// Tools by name, with their descriptions for the model.
pub struct Toolbox {
    specs: Vec<ToolSpec>,
    tools: Vec<Arc<dyn Tool>>,
}

impl Toolbox {
    /// Describes each tool once, because a description is not free.
    pub fn new(tools: Vec<Arc<dyn Tool>>) -> Self {
        Self {
            specs: tools.iter().map(|tool| tool.spec()).collect(),
            tools,
        }
    }

    /// The descriptions for the model.
    pub fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// Returns the tool with that name.
    pub fn find(&self, name: &str) -> Option<&dyn Tool> {
        let position = self.specs.iter().position(|spec| spec.name == name)?;
        self.tools.get(position).map(|tool| &**tool)
    }

    /// Returns the result for calling an unknown tool.
    pub fn unknown(&self) -> ToolOutput {
        let names: Vec<_> = self.specs.iter().map(|spec| spec.name.as_str()).collect();
        ToolOutput::refused(format!(
            "There is no such tool. The tools are: {}.",
            names.join(", ")
        ))
    }
}
