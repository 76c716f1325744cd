//! The tools of one run, described once.

use std::sync::Arc;

use ars_agent::ToolSpec;
use ars_bot_tools::{Tool, ToolOutput};

/// Tools by name, with what the model is told of them.
pub struct Toolbox {
    specs: Vec<ToolSpec>,
    tools: Vec<Arc<dyn Tool>>,
}

impl Toolbox {
    /// Describes each tool once; a description is not free.
    pub fn new(tools: Vec<Arc<dyn Tool>>) -> Self {
        Self { specs: tools.iter().map(|tool| tool.spec()).collect(), tools }
    }

    /// What the model is told.
    pub fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// The tool of that name.
    pub fn find(&self, name: &str) -> Option<&dyn Tool> {
        let position = self.specs.iter().position(|spec| spec.name == name)?;
        self.tools.get(position).map(|tool| &**tool)
    }

    /// What a model that names no tool of the run is told.
    pub fn unknown(&self) -> ToolOutput {
        let names: Vec<_> = self.specs.iter().map(|spec| spec.name.as_str()).collect();
        ToolOutput::refused(format!("There is no such tool. The tools are: {}.", names.join(", ")))
    }
}
