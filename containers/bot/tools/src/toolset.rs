//! Which tools each toolset has.

use std::sync::Arc;

use super::{
    Tool, bash::Bash, diff_digest::DiffDigest, edit_file::EditFile, github::GitHubTool,
    list_files::ListFiles, list_skills::ListSkills, read_file::ReadFile, search::Search,
    submit_pr_description::SubmitPrDescription, submit_verdict::SubmitVerdict,
    update_status::UpdateStatus, use_skill::UseSkill, web_fetch::WebFetch, web_search::WebSearch,
    write_file::WriteFile,
};

/// A named set of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toolset {
    /// Changes a working tree.
    Full,
    /// Reads a working tree and gives a verdict. Commands may run, but no tool changes files.
    Readonly,
    /// Without a working tree.
    Assistant,
    /// No working tree, but the web.
    Web,
}

impl Toolset {
    /// Returns the tools in the order in which the model reads about them.
    pub fn tools(self) -> Vec<Arc<dyn Tool>> {
        let mut tools = self.own();
        tools.extend(GitHubTool::READS.map(shared));
        // A reviewer and a researcher report to the requester, and write nowhere else.
        if matches!(self, Self::Full | Self::Assistant) {
            tools.extend(GitHubTool::WRITES.map(shared));
        }
        tools
    }

    fn own(self) -> Vec<Arc<dyn Tool>> {
        match self {
            Self::Full => vec![
                Arc::new(Bash),
                Arc::new(ReadFile),
                Arc::new(WriteFile),
                Arc::new(EditFile),
                Arc::new(ListFiles),
                Arc::new(Search),
                Arc::new(UpdateStatus),
                Arc::new(DiffDigest),
                Arc::new(SubmitPrDescription),
                Arc::new(WebFetch),
                Arc::new(ListSkills),
                Arc::new(UseSkill),
            ],
            Self::Readonly => vec![
                Arc::new(Bash),
                Arc::new(ReadFile),
                Arc::new(ListFiles),
                Arc::new(Search),
                Arc::new(UpdateStatus),
                Arc::new(DiffDigest),
                Arc::new(SubmitVerdict),
                Arc::new(WebFetch),
                Arc::new(ListSkills),
                Arc::new(UseSkill),
            ],
            Self::Assistant => vec![Arc::new(WebFetch), Arc::new(UpdateStatus)],
            Self::Web => vec![
                Arc::new(WebFetch),
                Arc::new(WebSearch),
                Arc::new(UpdateStatus),
            ],
        }
    }
}

fn shared(tool: GitHubTool) -> Arc<dyn Tool> {
    Arc::new(tool)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use ars_agent::resume::RERUN_SAFE;

    use super::*;
    use crate::{Effects, Need};

    const ALL: [Toolset; 4] = [
        Toolset::Full,
        Toolset::Readonly,
        Toolset::Assistant,
        Toolset::Web,
    ];

    fn names(toolset: Toolset) -> Vec<String> {
        toolset
            .tools()
            .iter()
            .map(|tool| tool.spec().name)
            .collect()
    }

    #[test]
    fn argument_schemas_are_closed_objects() {
        for toolset in ALL {
            for tool in toolset.tools() {
                let spec = tool.spec();
                assert_eq!(spec.input_schema["type"], "object", "{}", spec.name);
                assert_eq!(
                    spec.input_schema["additionalProperties"], false,
                    "{}",
                    spec.name
                );
                assert!(spec.input_schema["required"].is_array(), "{}", spec.name);
            }
        }
    }

    #[test]
    fn effects_agree_with_the_resume_list() {
        let table = BTreeMap::from([
            ("bash", Effects::Mutating),
            ("edit_file", Effects::Mutating),
            ("write_file", Effects::RerunSafe),
            ("submit_pr_description", Effects::RerunSafe),
            ("submit_verdict", Effects::RerunSafe),
            ("update_status", Effects::RerunSafe),
            ("diff_digest", Effects::None),
            ("list_files", Effects::None),
            ("list_skills", Effects::None),
            ("read_file", Effects::None),
            ("search", Effects::None),
            ("use_skill", Effects::None),
            ("web_fetch", Effects::None),
            ("web_search", Effects::None),
        ]);
        let reads = GitHubTool::READS.map(|tool| (tool.name(), Effects::None));
        let writes = GitHubTool::WRITES.map(|tool| (tool.name(), Effects::Mutating));
        let table: BTreeMap<_, _> = table.into_iter().chain(reads).chain(writes).collect();
        let mut seen = BTreeSet::new();
        for tool in ALL.into_iter().flat_map(Toolset::tools) {
            let (name, effects) = (tool.spec().name, tool.effects());
            assert_eq!(table.get(name.as_str()), Some(&effects), "{name}");
            assert_eq!(
                RERUN_SAFE.contains(&name.as_str()),
                effects == Effects::RerunSafe,
                "{name}"
            );
            seen.insert(name);
        }
        assert!(
            table.keys().all(|name| seen.contains(*name)),
            "only {seen:?}"
        );
    }

    #[test]
    fn tools_declare_what_they_need() {
        let expected = |name: &str| match name {
            "list_skills" | "use_skill" => &[Need::Skills][..],
            "submit_pr_description" => &[Need::CodeHost],
            _ if GitHubTool::READS.iter().any(|tool| tool.name() == name) => &[Need::CodeHost],
            _ if GitHubTool::WRITES.iter().any(|tool| tool.name() == name) => &[Need::CodeHost],
            _ => &[],
        };
        for tool in ALL.into_iter().flat_map(Toolset::tools) {
            let name = tool.spec().name;
            assert_eq!(tool.needs(), expected(&name), "{name}");
        }
    }

    #[test]
    fn a_toolset_names_each_tool_once() {
        for toolset in ALL {
            let mut sorted = names(toolset);
            sorted.sort();
            sorted.dedup();
            assert_eq!(sorted.len(), names(toolset).len(), "{toolset:?}");
        }
    }

    #[test]
    fn review_toolset_is_read_only() {
        let review = names(Toolset::Readonly);
        assert!(review.contains(&"submit_verdict".to_owned()));
        assert!(review.contains(&"github_pr_diff".to_owned()));
        for changing in [
            "write_file",
            "edit_file",
            "github_issue_create",
            "github_issue_comment",
        ] {
            assert!(!review.contains(&changing.to_owned()), "{changing}");
            assert!(
                names(Toolset::Full).contains(&changing.to_owned()),
                "{changing}"
            );
        }
        assert!(!names(Toolset::Full).contains(&"submit_verdict".to_owned()));
    }

    #[test]
    fn agents_without_repository_have_no_workspace_tools() {
        let own = |toolset: Toolset| -> Vec<String> {
            names(toolset)
                .into_iter()
                .filter(|name| !name.starts_with("github_"))
                .collect()
        };
        assert_eq!(own(Toolset::Assistant), ["web_fetch", "update_status"]);
        assert_eq!(
            own(Toolset::Web),
            ["web_fetch", "web_search", "update_status"]
        );
    }
}
