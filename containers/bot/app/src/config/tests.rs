//! Tests of the configuration file.

use super::*;

fn problem(text: &str) -> String {
    match parse(text) {
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

#[test]
fn every_mistake_is_named_by_its_key() {
    for (text, words) in [
        ("organisation = \"x\"", vec!["line 1", "organisation"]),
        ("[defaults]\nagent = \"painter\"", vec!["defaults.agent", "general, coding"]),
        ("[defaults.models]\ncoding = \"gpt\"", vec!["line 2", "coding", "provider/model"]),
        ("[defaults.efforts]\ncoding = \"lots\"", vec!["line 2", "coding", "medium"]),
        ("[defaults]\nrepository = \"a/b\"", vec!["defaults.repository", "repositories"]),
        ("[[repositories]]\nname = \"a/b\"", vec!["origin"]),
        ("[restrict]\nagents = [\"painter\"]", vec!["restrict.agents"]),
        ("[restrict]\nrepos = [\"Painter\"]", vec!["restrict.repos", "owner/name"]),
        ("[grants.\"cli:local\"]\nactions = \"all\"", vec!["grants", "slack"]),
        ("[grants.\"http:a*\"]\nactions = \"all\"", vec!["grants", "`*`"]),
        ("[grants.\"schedule:*\"]\nactions = \"all\"", vec!["grants", "`*`"]),
        ("[channels.C1]\nagent = \"painter\"", vec!["channels.C1.agent", "general, coding"]),
        ("[run_history]\nmax_runs = 0", vec!["run_history.max_runs", "at least 1"]),
        ("[agents.coding]\nturns = 0", vec!["agents.coding"]),
        (
            "[providers.a]\ntype = \"rehearsal\"\nscript = \"s\"\nscript_text = \"\"",
            vec!["providers.a.script_text", "`script`"],
        ),
        ("[providers.a]\ntype = \"telepathy\"", vec!["line 2", "type", "anthropic"]),
    ] {
        let problem = problem(text);
        assert!(words.iter().all(|word| problem.contains(word)), "{text}: {problem}");
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
        assert!(!problem.contains("secret") && problem != "fine", "{text}: {problem}");
    }
}

#[test]
fn missing_key_is_an_error_and_later_providers_win() {
    let file = parse("[providers.anthropic]\ntype = \"anthropic\"\napi_key_env = \"MY_KEY\"").unwrap();
    let unset = providers(&file.providers, None, |_| None).err().unwrap().to_string();
    assert!(unset.contains("providers.anthropic.api_key_env"), "{unset}");
    let set = |name: &str| (name == "MY_KEY" || name == "ANTHROPIC_API_KEY").then(|| name.to_owned());
    let providers = providers(&file.providers, Some("script.toml".into()), set).unwrap();
    assert_eq!(providers["anthropic"].api_key.as_ref().unwrap().expose(), "MY_KEY");
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
    let providers = providers(&parse(text).unwrap().providers, None, set).unwrap();
    for name in ["anthropic", "mine"] {
        assert_eq!(providers[name].api_key.as_ref().unwrap().expose(), "key");
        assert_eq!(providers[name].base_url.as_deref(), Some("https://proxy.example"));
    }
    assert!(providers["gateway"].api_key.is_none());
    assert_eq!(providers["gateway"].base_url.as_deref(), Some("https://gateway.example"));
}

#[test]
fn invalid_address_is_named_by_its_key() {
    let file = parse("[providers.a]\ntype = \"anthropic\"\nbase_url = \"https://u:secret@h\"").unwrap();
    let problem = providers(&file.providers, None, |_| None).err().unwrap().to_string();
    assert!(problem.starts_with("providers.a.base_url") && !problem.contains("secret"), "{problem}");
}

#[test]
fn an_agents_budget_can_be_changed_in_part() {
    let file = parse("[agents.coding]\nturns = 250").unwrap();
    let budget = file.settings(None, None).unwrap().budgets["coding"];
    assert_eq!((budget.turns, budget.time_ms), (250, 45 * 60_000));
}
