//! Tests loading a skill folder, and the shipped skills.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{collections::BTreeMap, fs, path::Path};

use ars_bot_adapters::skills::{LoadedSkills, SkillError, load};
use ars_bot_ports::{Skill, Skills};
use ars_bot_tools::agents;
use ars_events::SkillUpstream;
use tempfile::TempDir;

/// Makes a folder with these files.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

fn skill(name: &str, agents: &str) -> String {
    format!("---\nname: {name}\ndescription: d\nagents: {agents}\n---\nBody of {name}.\n")
}

fn names(skills: &LoadedSkills, agent: &str) -> Vec<String> {
    skills
        .list(agent)
        .iter()
        .map(|skill| skill.name.clone())
        .collect()
}

#[test]
fn missing_folder_has_no_skills() {
    let folder = folder(&[]);
    let skills = load(&folder.path().join("nowhere")).unwrap();
    assert!(names(&skills, "review").is_empty());
    assert!(names(&load(folder.path()).unwrap(), "review").is_empty());
}

#[test]
fn skill_has_front_matter_and_body() {
    let text = "---\r\nname: quality\r\ndescription: >\r\n  Reading for\r\n  upkeep.\r\nagents: [review, coding]\r\n\
                source: the handbook\r\nupstream: {repo: acme/skills, commit: abc1234}\r\n---\r\n\r\n# Quality\r\n\
                ---\r\nRead.\r\n";
    let folder = folder(&[("any-slug/SKILL.md", text)]);
    let skills = load(folder.path()).unwrap();
    assert_eq!(
        *skills.get("quality").unwrap(),
        Skill {
            name: "quality".into(),
            description: "Reading for upkeep.".into(),
            agents: vec!["review".into(), "coding".into()],
            source: Some("the handbook".into()),
            upstream: Some(SkillUpstream {
                repo: "acme/skills".into(),
                commit: "abc1234".into()
            }),
            body: "# Quality\n---\nRead.\n".into(),
        }
    );
    assert!(skills.get("any-slug").is_none());
}

#[test]
fn skills_are_listed_by_agent_and_name() {
    let folder = folder(&[
        ("1/SKILL.md", &skill("security", "[review]")),
        ("2/SKILL.md", &skill("quality", "[review, coding]")),
        ("3/SKILL.md", &skill("increments", "[coding]")),
    ]);
    let skills = load(folder.path()).unwrap();
    assert_eq!(names(&skills, "review"), ["quality", "security"]);
    assert_eq!(names(&skills, "coding"), ["increments", "quality"]);
    assert!(names(&skills, "general").is_empty());
    assert!(
        skills
            .get("security")
            .is_some_and(|skill| !skill.is_for("coding"))
    );
}

#[test]
fn what_is_no_skill_is_passed_over() {
    let folder = folder(&[
        ("README.md", "about"),
        ("drafts/notes.md", "no skill"),
        ("deep/er/SKILL.md", "not looked at"),
        ("quality/SKILL.md", &skill("quality", "[review]")),
    ]);
    assert_eq!(names(&load(folder.path()).unwrap(), "review"), ["quality"]);
}

#[test]
fn malformed_file_error_names_file_and_fault() {
    let matter = |lines: &str| format!("---\n{lines}\n---\nBody.\n");
    let long = |field: &str, n: usize| {
        let others = if field == "name" {
            "description: d"
        } else {
            "name: n"
        };
        matter(&format!(
            "{field}: {}\n{others}\nagents: [review]",
            "x".repeat(n)
        ))
    };
    for (content, part) in [
        (String::new(), "does not begin with"),
        ("Body.\n".into(), "does not begin with"),
        ("---\nname: n\n".into(), "does not end with"),
        (matter("name: n\ndescription: d"), "agents"),
        (
            matter("name: n\ndescription: d\nagents: []"),
            "`agents` must name",
        ),
        (
            matter("name: n\ndescription: d\nagents: ['']"),
            "`agents` must name",
        ),
        (
            matter("name: n\ndescription: d\nagents: review"),
            "front matter is not",
        ),
        (matter("name: n\nagents: [review]"), "description"),
        (matter("description: d\nagents: [review]"), "name"),
        (
            matter("name: ''\ndescription: d\nagents: [review]"),
            "`name` must be",
        ),
        (
            matter("name: n\ndescription: \"a\\e[31m\"\nagents: [review]"),
            "`description` must be",
        ),
        (
            matter("name: n\nname: m\ndescription: d\nagents: [review]"),
            "duplicate",
        ),
        (
            matter("name: n\ndescription: d\nagents: [review]\nmodel: x/y"),
            "model",
        ),
        (
            matter("name: n\ndescription: d\nagents: [review]\nupstream: {repo: a/b}"),
            "commit",
        ),
        (matter("name: [n"), "front matter is not"),
        (
            "---\nname: n\ndescription: d\nagents: [review]\n---\n \n".into(),
            "no body",
        ),
        (long("name", 65), "`name` must be"),
        (long("description", 1_001), "`description` must be"),
        (
            format!("{}{}", skill("n", "[review]"), "x".repeat(64 << 10)),
            "larger than 64 KiB",
        ),
    ] {
        let folder = folder(&[("quality/SKILL.md", &content)]);
        let error = load(folder.path()).unwrap_err();
        assert!(matches!(error, SkillError::Malformed { .. }), "{error:?}");
        let said = error.to_string();
        let named = folder.path().join("quality/SKILL.md").display().to_string();
        assert!(
            said.starts_with(&named) && said.contains(part),
            "{part}: {said}"
        );
    }
    let folder = folder(&[("quality/SKILL.md", "")]);
    fs::write(folder.path().join("quality/SKILL.md"), b"---\nname: \xff").unwrap();
    assert!(
        load(folder.path())
            .unwrap_err()
            .to_string()
            .contains("not UTF-8")
    );
}

#[test]
fn recursive_yaml_is_rejected() {
    let mut yaml = "---\na0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let below = format!("*a{}", level - 1);
        yaml.push_str(&format!(
            "a{level}: &a{level} [{}]\n",
            [below.as_str(); 9].join(", ")
        ));
    }
    yaml.push_str("name: *a11\ndescription: d\nagents: *a11\n---\nBody.\n");
    let folder = folder(&[("bomb/SKILL.md", &yaml)]);
    assert!(matches!(
        load(folder.path()),
        Err(SkillError::Malformed { .. })
    ));
}

#[test]
fn duplicate_name_error_names_the_second_file() {
    let same = skill("quality", "[review]");
    let folder = folder(&[("a/SKILL.md", &same), ("b/SKILL.md", &same)]);
    let said = load(folder.path()).unwrap_err().to_string();
    assert!(
        said.contains("b/SKILL.md") && said.contains("another skill"),
        "{said}"
    );
}

#[test]
fn unreadable_file_error_names_the_file() {
    let folder = folder(&[("file", "x")]);
    fs::create_dir_all(folder.path().join("skills/quality/SKILL.md")).unwrap();
    for (path, named) in [("file", "file"), ("skills", "skills/quality/SKILL.md")] {
        let error = load(&folder.path().join(path)).unwrap_err();
        assert!(matches!(error, SkillError::Unreadable { .. }), "{error:?}");
        assert!(
            error
                .to_string()
                .starts_with(&folder.path().join(named).display().to_string()),
            "{error}"
        );
    }
}

#[test]
fn shipped_skills_are_valid() {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../skills");
    let skills = load(&shipped).unwrap();
    assert_eq!(
        names(&skills, "review"),
        ["performance", "quality", "security"]
    );
    let coding = [
        "doubt-driven",
        "increments",
        "pr-walk-through",
        "spec-first",
        "tests-first",
    ];
    assert_eq!(names(&skills, "coding"), coding);
    let mut users = BTreeMap::new();
    for agent in agents::AGENTS {
        let has_tool = agent
            .toolset
            .tools()
            .iter()
            .any(|tool| tool.spec().name == "use_skill");
        users.insert(agent.name, has_tool);
    }
    for entry in fs::read_dir(&shipped).unwrap() {
        let slug = entry.unwrap().file_name().into_string().unwrap();
        let skill = skills.get(&slug).unwrap();
        assert!(
            skill.agents.iter().all(|agent| users[agent.as_str()]),
            "{slug}"
        );
    }
}
