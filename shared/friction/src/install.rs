//! Recognizing commands that install or clone (state-worker supplement section 8.2, `setup_install`).

/// Words that may stand before the program proper.
const WRAPPERS: &[&str] = &["sudo", "corepack", "env", "time", "exec", "command"];

/// Program and the subcommands of it that install or fetch.
const INSTALLERS: &[(&str, &[&str])] = &[
    ("npm", &["i", "install", "ci", "add"]),
    ("pnpm", &["i", "install", "add", "fetch"]),
    ("yarn", &["install", "add"]),
    ("bun", &["i", "install", "add"]),
    ("pip", &["install", "download"]),
    ("pip3", &["install", "download"]),
    ("pipx", &["install"]),
    ("uv", &["sync", "add", "pip"]),
    ("poetry", &["install", "add"]),
    ("conda", &["install", "create"]),
    ("cargo", &["install", "fetch"]),
    ("rustup", &["install", "target", "toolchain", "component"]),
    ("go", &["get", "install", "mod"]),
    ("gem", &["install"]),
    ("bundle", &["install"]),
    ("composer", &["install", "require"]),
    ("apt", &["install", "update"]),
    ("apt-get", &["install", "update"]),
    ("apk", &["add"]),
    ("dnf", &["install"]),
    ("yum", &["install"]),
    ("brew", &["install"]),
    ("git", &["clone"]),
    ("playwright", &["install"]),
];

/// Whether any segment of a shell command begins with an install or clone.
pub(crate) fn is_install(command: &str) -> bool {
    blank_quotes(command).split(['&', '|', ';', '\n', '(']).any(segment_installs)
}

fn segment_installs(segment: &str) -> bool {
    let mut words = segment
        .split_whitespace()
        .skip_while(|word| WRAPPERS.contains(word) || (word.contains('=') && !word.starts_with('-')));
    let Some(mut program) = words.next() else { return false };
    if matches!(program, "python" | "python3") {
        let (Some("-m"), Some(module)) = (words.next(), words.next()) else { return false };
        program = module;
    }
    if program == "npx" {
        program = words.next().unwrap_or_default();
    }
    let program = program.rsplit('/').next().unwrap_or_default();
    // Options before the subcommand are skipped; a bare `yarn` installs.
    let subcommand = words.find(|word| !word.starts_with('-'));
    INSTALLERS.iter().any(|(name, subcommands)| {
        *name == program
            && match subcommand {
                Some(subcommand) => subcommands.contains(&subcommand),
                None => *name == "yarn",
            }
    })
}

/// Quoted text is an argument, never a command: it becomes one neutral word.
fn blank_quotes(command: &str) -> String {
    let mut blanked = String::with_capacity(command.len());
    let mut quote = None;
    for c in command.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                blanked.push('_');
            }
            None => blanked.push(c),
        }
    }
    blanked
}

#[cfg(test)]
mod tests {
    use super::is_install;

    #[test]
    fn installs_and_clones_are_recognized_wherever_a_segment_begins() {
        for command in [
            "npm ci",
            "cd app && npm install --no-audit",
            "sudo apt-get -y install jq",
            "CI=1 pnpm i",
            "python3 -m pip install -r requirements.txt",
            "git clone https://example.test/x y",
            "true; /usr/bin/pip3 install x",
            "yarn",
            "corepack yarn install",
        ] {
            assert!(is_install(command), "{command}");
        }
    }

    #[test]
    fn other_commands_and_quoted_words_are_not() {
        for command in
            ["npm test", "echo 'npm install'", "git status", "grep \"; git clone\" x", "", "pip --version"]
        {
            assert!(!is_install(command), "{command}");
        }
    }
}
