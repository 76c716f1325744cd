//! Tests the configuration file.

use ars_bot_adapters::sandbox::RunLimits;

use super::*;

fn problem(text: &str) -> String {
    match parse_toml(text) {
        Err(error) => error.to_string(),
        Ok(file) => {
            let checked = providers(&file.providers, None, |_| None)
                .and_then(|_| file.settings(None, None))
                .map(drop)
                .and_then(|()| file.run_history.policy().map(drop));
            checked.map_or_else(|error| error.to_string(), |()| "fine".into())
        }
    }
}

#[test]
fn example_file_and_empty_file_are_valid() {
    let example = include_str!("../../../../../docs/ars.example.toml");
    assert_eq!(problem(example), "fine");
    assert_eq!(problem(""), "fine");
}

/// An unknown key's error lists the keys in the table.
#[test]
fn example_has_every_key() {
    let example = include_str!("../../../../../docs/ars.example.toml");
    let is_shown = |key: &str| {
        example.match_indices(key).any(|(at, _)| {
            let (before, after) = (&example[..at], &example[at + key.len()..]);
            let is_word = !before.ends_with(|c: char| c.is_alphanumeric());
            is_word
                && [" = ", "]", ".", "`"]
                    .iter()
                    .any(|end| after.starts_with(end))
        })
    };
    for table in [
        "",
        "[providers.a]",
        "[defaults]",
        "[limits]",
        "[money]",
        "[prices.\"a/b\"]",
        "[channels.\"http:a\"]",
        "[agents.coding]",
        "[[repositories]]",
        "[requests]",
        "[grants.\"http:a\"]",
        "[restrict]",
        "[people.ann]",
        "[review]",
        "[review.readingDiff]",
        "[webhook]",
        "[execution]",
        "[execution.resident]",
        "[sandbox]",
        "[sandbox.limits]",
        "[sandbox.egress]",
        "[web]",
        "[dashboard]",
        "[dashboard.token]",
        "[selfImprovement]",
        "[runHistory]",
        "[runHistory.worker]",
        "[memory]",
        "[schedules]",
        "[telemetry]",
        "[tracing]",
    ] {
        let error = problem(&format!("{table}\nunknownKey = 1\n"));
        let (_, keys) = error.split_once("expected").expect(table);
        let keys: Vec<&str> = keys
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|key| !key.contains('_'))
            .collect();
        assert!(!keys.is_empty(), "{table}: {error}");
        for key in keys {
            assert!(
                is_shown(key),
                "{table} {key} is not in docs/ars.example.toml"
            );
        }
    }
}

#[test]
fn every_mistake_is_named_by_its_key() {
    for (text, words) in [
        ("organisation = \"x\"", vec!["line 1", "organisation"]),
        (
            "[defaults]\nagent = \"painter\"",
            vec!["defaults.agent", "general, coding"],
        ),
        (
            "[defaults.models]\ncoding = \"gpt\"",
            vec!["line 2", "coding", "provider/model"],
        ),
        (
            "[defaults.efforts]\ncoding = \"lots\"",
            vec!["line 2", "coding", "medium"],
        ),
        (
            "[defaults]\nrepository = \"a/b\"",
            vec!["defaults.repository", "repositories"],
        ),
        ("[[repositories]]\nname = \"a/b\"", vec!["origin"]),
        (
            "[restrict]\nagents = [\"painter\"]",
            vec!["restrict.agents"],
        ),
        (
            "[restrict]\nrepos = [\"Painter\"]",
            vec!["restrict.repos", "owner/name"],
        ),
        (
            "[grants.\"cli:local\"]\nactions = \"all\"",
            vec!["grants", "slack"],
        ),
        (
            "[people.ann]\naccounts = [\"slack:U1\"]",
            vec!["people.ann.accounts", "2 to 8"],
        ),
        (
            "[people.ann]\naccounts = [\"slack:U1\", \"hunter2\"]",
            vec!["people.ann.accounts[1]", "access:"],
        ),
        (
            "[people.ann]\naccounts = [\"slack:U1\", \"http:a\"]\n[people.bob]\naccounts = [\"http:a\", \"http:b\"]",
            vec!["people.bob.accounts[0]", "one person"],
        ),
        (
            "[people.ann]\naccounts = [\"slack:U1\", \"http:a\"]\n[users.\"mcp:a\"]",
            vec!["users.mcp:a", "main account"],
        ),
        (
            "[grants.\"http:a*\"]\nactions = \"all\"",
            vec!["grants", "`*`"],
        ),
        (
            "[grants.\"schedule:*\"]\nactions = \"all\"",
            vec!["grants", "`*`"],
        ),
        (
            "[channels.C1]\nagent = \"painter\"",
            vec!["channels.C1.agent", "general, coding"],
        ),
        (
            "[run_history]\nmax_runs = 0",
            vec!["runHistory.maxRuns", "at least 1"],
        ),
        ("[agents.coding]\nturns = 0", vec!["agents.coding"]),
        (
            "[selfImprovement]\nminRuns = 0",
            vec!["selfImprovement.minRuns", "at least 1"],
        ),
        (
            "[selfImprovement]\ntop = 0",
            vec!["selfImprovement.top", "at least 1"],
        ),
        (
            "[selfImprovement]\nrepo = \"app\"",
            vec!["selfImprovement.repo", "owner/name"],
        ),
        (
            "[selfImprovement]\nlabel = \"\"",
            vec!["selfImprovement.label", "1 to 50"],
        ),
        (
            "[defaults]\nmaxTokens = 0",
            vec!["defaults.maxTokens", "at least 1"],
        ),
        (
            "[providers.a]\ntype = \"rehearsal\"\nscript = \"s\"\nscript_text = \"\"",
            vec!["providers.a.scriptText", "`script`"],
        ),
        (
            "[providers.a]\ntype = \"telepathy\"",
            vec!["line 2", "type", "anthropic"],
        ),
    ] {
        let problem = problem(text);
        assert!(
            words.iter().all(|word| problem.contains(word)),
            "{text}: {problem}"
        );
    }
}

#[test]
fn misplaced_secret_is_not_quoted() {
    for text in "[defaults]\nmodel = \"sk-ant-secret\"|[agents.coding]\nturns = \"sk-ant-secret\"|\
        [providers.a]\ntype = \"sk-ant-secret\"|[grants.\"http:a\"]\nactions = \"sk-ant-secret\"|\
        [defaults]\nmodel = sk-ant-secret|[requests]\nallow_origins = [\n  \"secret=\",\n  1,\n]|\
        [requests]\nallow_origins = [\n  7, \"secret=\",\n]|\
        sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyz = 1"
        .split('|')
    {
        let problem = problem(text);
        assert!(
            !problem.contains("secret") && problem != "fine",
            "{text}: {problem}"
        );
    }
}

#[test]
fn missing_key_is_an_error_and_later_providers_win() {
    let file = parse_toml("[providers.anthropic]\ntype = \"anthropic\"\napi_key_env = \"MY_KEY\"")
        .unwrap();
    let unset = providers(&file.providers, None, |_| None)
        .err()
        .unwrap()
        .to_string();
    assert!(unset.contains("providers.anthropic.apiKeyEnv"), "{unset}");
    let set =
        |name: &str| (name == "MY_KEY" || name == "ANTHROPIC_API_KEY").then(|| name.to_owned());
    let providers = providers(&file.providers, Some("script.toml".into()), set).unwrap();
    assert_eq!(
        providers["anthropic"].api_key.as_ref().unwrap().expose(),
        "MY_KEY"
    );
    assert!(providers.contains_key("rehearsal"));
}

#[test]
fn vendor_key_is_not_sent_to_other_hosts() {
    let text = "[providers.anthropic]\ntype = \"anthropic\"\n[providers.mine]\ntype = \"anthropic\"\n\
        [providers.gateway]\ntype = \"anthropic\"\nbase_url = \"https://gateway.example\"\n";
    let set = |name: &str| match name {
        "ANTHROPIC_API_KEY" => Some("key".to_owned()),
        "ANTHROPIC_BASE_URL" => Some("https://proxy.example".to_owned()),
        _ => None,
    };
    let providers = providers(&parse_toml(text).unwrap().providers, None, set).unwrap();
    for name in ["anthropic", "mine"] {
        assert_eq!(providers[name].api_key.as_ref().unwrap().expose(), "key");
        assert_eq!(
            providers[name].base_url.as_deref(),
            Some("https://proxy.example")
        );
    }
    assert!(providers["gateway"].api_key.is_none());
    assert_eq!(
        providers["gateway"].base_url.as_deref(),
        Some("https://gateway.example")
    );
}

#[test]
fn invalid_address_is_named_by_its_key() {
    let file = parse_toml("[providers.a]\ntype = \"anthropic\"\nbase_url = \"https://u:secret@h\"")
        .unwrap();
    let problem = providers(&file.providers, None, |_| None)
        .err()
        .unwrap()
        .to_string();
    assert!(
        problem.starts_with("providers.a.baseUrl") && !problem.contains("secret"),
        "{problem}"
    );
}

#[test]
fn an_agents_budget_can_be_changed_in_part() {
    let file = parse_toml("[agents.coding]\nturns = 250").unwrap();
    let budget = file.settings(None, None).unwrap().budgets["coding"];
    assert_eq!((budget.turns, budget.time_ms), (250, 45 * 60_000));
}

/// A configuration with every multi-word key, in the documents' spelling.
fn in_camel_case() -> serde_json::Value {
    serde_json::json!({
        "organization": "acme",
        "providers": {
            "local": { "type": "openai-compatible", "baseUrl": "http://127.0.0.1:1/v1", "apiKeyEnv": "KEY" },
            "played": { "type": "rehearsal", "scriptText": "text" },
        },
        "defaults": {
            "fallbackModel": "a/m", "maxTokens": 9000, "efforts": { "coding": "low" },
            "mcpServers": { "wiki": { "agents": ["general"], "url": "https://wiki.example" } },
        },
        "prices": { "a/m": { "input": "3", "output": "15", "cacheRead": "0.3", "cacheWrite": "4" } },
        "repositories": [{ "name": "acme/app", "origin": "/srv/app" }],
        "requests": { "allowOrigins": ["/srv/"] },
        "channels": { "http:ops": { "mcpServers": { "docs": { "url": "https://docs.example" } } } },
        "grants": { "http:ann": { "actions": ["agent:run:coding"], "repos": "all" } },
        "memory": {
            "enabled": true, "maxTokens": 700, "maxRecordsPerScope": 9,
            "worker": { "baseUrl": "https://memory.example", "tokenEnv": "MEMORY_KEY" },
        },
        "execution": { "type": "local" },
        "workspaceDir": "/srv/trees",
        "output": { "structured": true },
        "telemetry": { "otlpEndpoint": "http://127.0.0.1:4318" },
        "selfImprovement": { "minRuns": 3, "repo": "acme/app", "label": "friction", "top": 2 },
        "runHistory": {
            "includeContext": false, "retentionDays": 3, "maxRuns": 4, "maxBytes": 5, "store": "worker",
            "worker": { "baseUrl": "https://state.example", "tokenEnv": "STATE_KEY" },
        },
    })
}

/// The same keys in `snake_case`.
fn in_snake_case(value: &serde_json::Value) -> serde_json::Value {
    use serde_json::Value;
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (snake(key), in_snake_case(value)))
            .collect(),
        Value::Array(entries) => entries.iter().map(in_snake_case).collect(),
        other => other.clone(),
    }
}

fn snake(key: &str) -> String {
    key.chars().fold(String::new(), |mut name, c| {
        if c.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(c.to_ascii_lowercase());
        name
    })
}

/// Writes block-style YAML.
fn in_yaml(value: &serde_json::Value, indent: usize) -> String {
    let serde_json::Value::Object(fields) = value else {
        return format!(" {value}\n");
    };
    let lines = fields.iter().map(|(key, value)| {
        let key = if key.contains([':', '/']) {
            format!("'{key}'")
        } else {
            key.clone()
        };
        format!("{:indent$}{key}:{}", "", in_yaml(value, indent + 2))
    });
    let lines: String = lines.collect();
    if indent == 0 {
        lines
    } else {
        format!("\n{lines}")
    }
}

#[test]
fn formats_and_spellings_load_one_configuration() {
    let camel = in_camel_case();
    let snake = in_snake_case(&camel);
    assert_ne!(camel, snake);
    let expected = format!("{:?}", parse(&camel.to_string(), Format::Json).unwrap());
    assert!(
        expected.contains("STATE_KEY")
            && expected.contains("include_context: false")
            && expected.contains("structured: true"),
        "{expected}"
    );
    for value in [camel, snake] {
        let texts = [
            (serde_json::to_string_pretty(&value).unwrap(), Format::Json),
            (toml::to_string(&value).unwrap(), Format::Toml),
            (in_yaml(&value, 0), Format::Yaml),
        ];
        for (text, format) in texts {
            let file = parse(&text, format).unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!(format!("{file:?}"), expected, "{text}");
        }
    }
}

#[test]
fn both_spellings_of_a_key_are_named() {
    for (text, format) in [
        ("[runHistory]\nmaxRuns = 1\nmax_runs = 1", Format::Toml),
        ("runHistory:\n  maxRuns: 1\n  max_runs: 1", Format::Yaml),
        (
            "{\"runHistory\": {\"max_runs\": 1, \"maxRuns\": 1}}",
            Format::Json,
        ),
    ] {
        let problem = parse(text, format).unwrap_err().to_string();
        assert!(
            problem.contains("`maxRuns`") && problem.contains("`max_runs`"),
            "{problem}"
        );
    }
    let sections = parse("runHistory: {}\nrun_history: {}", Format::Yaml)
        .unwrap_err()
        .to_string();
    assert!(
        sections.contains("`runHistory`") && sections.contains("`run_history`"),
        "{sections}"
    );
    let folders = parse("workspaceDir: a\nworkspace_dir: b", Format::Yaml)
        .unwrap_err()
        .to_string();
    assert!(
        folders.contains("`workspaceDir`") && folders.contains("`workspace_dir`"),
        "{folders}"
    );
}

#[test]
fn execution_is_local() {
    for text in ["{}", "execution: {}", "execution: { type: local }"] {
        assert_eq!(
            parse(text, Format::Yaml).unwrap().execution.kind,
            ExecutionKind::Local,
            "{text}"
        );
    }
    for (text, format) in [
        ("execution:\n  type: e2b", Format::Yaml),
        (
            "execution:\n  type: cloudflare\n  url: https://x.example\n  apiKeyEnv: KEY",
            Format::Yaml,
        ),
        ("[execution]\ntype = \"e2b\"", Format::Toml),
        ("{\"execution\": {\n\"type\": \"Local\"}}", Format::Json),
    ] {
        let problem = parse(text, format).unwrap_err().to_string();
        let words = ["line 2, `type`", "`execution.type`", "only `local` exists"];
        assert!(
            words.iter().all(|word| problem.contains(word)),
            "{text}: {problem}"
        );
    }
    for (text, format, key) in [
        (
            "execution:\n  type: local\n  url: hunter2",
            Format::Yaml,
            "url",
        ),
        (
            "[execution]\napiKeyEnv = \"hunter2\"",
            Format::Toml,
            "apiKeyEnv",
        ),
        (
            "{\"execution\": {\"residents\": {}}}",
            Format::Json,
            "residents",
        ),
    ] {
        let problem = parse(text, format).unwrap_err().to_string();
        assert!(
            problem.contains("unknown field") && problem.contains(key),
            "{text}: {problem}"
        );
        assert!(!problem.contains("hunter2"), "{problem}");
    }
}

#[test]
fn mistakes_in_other_formats_are_named() {
    for (text, format, words) in [
        (
            "defaults:\n  modle: a/b",
            Format::Yaml,
            ["line 2, `modle`", "unknown field"],
        ),
        (
            "defaults:\n  model: hunter2",
            Format::Yaml,
            ["line 2, `model`", "provider/model"],
        ),
        (
            "runHistory:\n  maxRuns: hunter2",
            Format::Yaml,
            ["line 2, `maxRuns`", "expected"],
        ),
        (
            "runHistory:\n  store: hunter2",
            Format::Yaml,
            ["line 2, `store`", "worker"],
        ),
        (
            "memory:\n  enabled: yes",
            Format::Yaml,
            ["line 2, `enabled`", ""],
        ),
        (
            "grants:\n  'http:a':\n    actions: hunter2",
            Format::Yaml,
            ["line", "list"],
        ),
        ("defaults: [hunter2", Format::Yaml, ["line", ""]),
        (
            "{\n  \"organisation\": \"hunter2\"}",
            Format::Json,
            ["line 2, `organisation`", "unknown field"],
        ),
        (
            "{\"runHistory\": {\n  \"maxRuns\": \"hunter2\"}}",
            Format::Json,
            ["line 2, `maxRuns`", "expected u64"],
        ),
        (
            "{\n\"organization\": hunter2}",
            Format::Json,
            ["line 2", "expected"],
        ),
    ] {
        let problem = parse(text, format).unwrap_err().to_string();
        assert!(
            words.iter().all(|word| problem.contains(word)),
            "{text}: {problem}"
        );
        assert!(!problem.contains("hunter2"), "{problem}");
    }
}

#[test]
fn extension_chooses_the_format() {
    for (path, format) in [
        ("a.yaml", Format::Yaml),
        ("a.YML", Format::Yaml),
        ("a.json", Format::Json),
        ("a.toml", Format::Toml),
        ("a", Format::Toml),
    ] {
        assert_eq!(Format::for_path(path.as_ref()), format, "{path}");
    }
}

#[test]
fn empty_documents_are_valid() {
    for (text, format) in [
        ("", Format::Toml),
        ("{}", Format::Json),
        ("{}", Format::Yaml),
        ("", Format::Yaml),
    ] {
        assert!(parse(text, format).is_ok(), "{format:?}");
    }
}

#[test]
fn zero_removes_a_limit_of_the_sandbox() {
    let limits = |text: &str| parse_toml(text).unwrap().sandbox.settings().unwrap().limits;
    assert_eq!(limits(""), RunLimits::default());
    let some = limits("[sandbox.limits]\nmemory_bytes = 1048576");
    assert_eq!(
        some,
        RunLimits {
            memory_bytes: Some(1 << 20),
            ..RunLimits::default()
        }
    );
    let none = limits("[sandbox.limits]\nmemoryBytes = 0\nprocesses = 0");
    assert_eq!(
        none,
        RunLimits {
            memory_bytes: None,
            processes: None
        }
    );
}
