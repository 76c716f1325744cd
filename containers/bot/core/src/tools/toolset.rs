//! Which tools each toolset holds (bot supplement section 15).

use std::sync::Arc;

use super::{
    Tool, bash::Bash, edit_file::EditFile, list_files::ListFiles, read_file::ReadFile, search::Search,
    update_status::UpdateStatus, write_file::WriteFile,
};

/// A named choice of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toolset {
    /// Files and commands of a workspace.
    Coding,
    /// No workspace.
    General,
}

impl Toolset {
    /// Its tools, in the order the model is told of them.
    pub fn tools(self) -> Vec<Arc<dyn Tool>> {
        match self {
            Self::Coding => vec![
                Arc::new(Bash),
                Arc::new(ReadFile),
                Arc::new(WriteFile),
                Arc::new(EditFile),
                Arc::new(ListFiles),
                Arc::new(Search),
                Arc::new(UpdateStatus),
            ],
            Self::General => vec![Arc::new(UpdateStatus)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_describes_its_arguments_as_a_closed_object() {
        for tool in Toolset::Coding.tools() {
            let spec = tool.spec();
            assert_eq!(spec.input_schema["type"], "object", "{}", spec.name);
            assert_eq!(spec.input_schema["additionalProperties"], false, "{}", spec.name);
            assert!(spec.input_schema["required"].is_array(), "{}", spec.name);
        }
    }

    #[test]
    fn the_general_agent_gets_nothing_that_needs_a_workspace() {
        let names: Vec<_> = Toolset::General.tools().iter().map(|tool| tool.spec().name).collect();
        assert_eq!(names, ["update_status"]);
    }
}
