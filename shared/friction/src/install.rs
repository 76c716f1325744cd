//! Recognizes shell commands that install or clone.

/// Words that may precede the program. Shell keywords among them open a separate segment.
const WRAPPERS: &[&str] = &[
    "sudo", "corepack", "env", "time", "exec", "command", "nohup", "npx", "if", "then", "else",
    "elif", "do", "while", "until", "!", "{",
];

/// Wrapper and installer options that consume the next word.
const OPTIONS_WITH_VALUE: &[&str] = &[
    "-C",
    "-c",
    "-u",
    "-g",
    "-w",
    "-F",
    "--prefix",
    "--cwd",
    "--dir",
    "--workspace",
    "--filter",
    "--config",
    "--git-dir",
    "--work-tree",
];

/// Commands that install or fetch: a program and words without options.
const INSTALLERS: &[&str] = &[
    "npm i",
    "npm install",
    "npm ci",
    "npm add", //
    "pnpm i",
    "pnpm install",
    "pnpm add",
    "pnpm fetch", //
    "yarn install",
    "yarn add",
    "bun i",
    "bun install",
    "bun add",
    "deno install", //
    "pip install",
    "pip download",
    "pip3 install",
    "pip3 download",
    "pipx install", //
    "uv sync",
    "uv add",
    "uv pip install",
    "uv pip sync",
    "uv tool install", //
    "poetry install",
    "poetry add",
    "conda install",
    "conda create", //
    "cargo install",
    "cargo fetch", //
    "rustup install",
    "rustup target add",
    "rustup toolchain install",
    "rustup component add", //
    "go get",
    "go install",
    "go mod download",
    "gem install",
    "bundle install", //
    "composer install",
    "composer require", //
    "apt install",
    "apt update",
    "apt-get install",
    "apt-get update", //
    "apk add",
    "dnf install",
    "yum install",
    "brew install",
    "playwright install", //
    "git clone",
    "gh repo clone",
];

/// Programs that install when called without a subcommand.
const BARE_INSTALLERS: &[&str] = &["yarn", "bundle"];

/// Returns a shell command's first install or clone command, without options.
pub(crate) fn installer(command: &str) -> Option<&'static str> {
    let joined = blank_quotes(command).replace("\\\n", " ");
    joined
        .split(['&', '|', ';', '\n', '(', ')', '`'])
        .find_map(of_segment)
}

fn of_segment(segment: &str) -> Option<&'static str> {
    let is_assignment = |word: &str| word.contains('=') && !word.starts_with('-');
    let mut words = Plain(segment.split_whitespace())
        .skip_while(|word| WRAPPERS.contains(word) || is_assignment(word))
        .peekable();
    let mut program = words.next()?.rsplit('/').next()?;
    // The option `-m` is already removed, so `python -m pip install` reads `python pip install`. A
    // script named `pip` would be run by path or end in `.py`.
    if program.starts_with("python") {
        program = words.next()?;
    }
    if words.peek().is_none() {
        return BARE_INSTALLERS
            .iter()
            .find(|bare| **bare == program)
            .copied();
    }
    let rest: Vec<_> = words.take(LONGEST_INSTALLER - 1).collect();
    INSTALLERS.iter().copied().find(|installer| {
        let mut wanted = installer.split(' ');
        wanted.next() == Some(program)
            && wanted
                .zip(0..)
                .all(|(word, at)| rest.get(at) == Some(&word))
    })
}

/// Number of words in the longest `INSTALLERS` entry.
const LONGEST_INSTALLER: usize = 3;

/// A segment's words without options and their values.
struct Plain<'a>(std::str::SplitWhitespace<'a>);

impl<'a> Iterator for Plain<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        loop {
            let word = self.0.next()?;
            if OPTIONS_WITH_VALUE.contains(&word) {
                self.0.next();
            } else if !word.starts_with('-') {
                return Some(word);
            }
        }
    }
}

/// Replaces quoted text with a neutral word, because it is an argument and never a command.
fn blank_quotes(command: &str) -> String {
    let mut blanked = String::with_capacity(command.len());
    let mut quote = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match quote {
            Some(open) if c == open => quote = None,
            // A backslash escapes a double quote.
            Some('"') if c == '\\' => drop(chars.next()),
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
    use super::*;

    #[test]
    fn installs_are_recognized_in_every_segment() {
        for (command, expected) in [
            ("npm ci", "npm ci"),
            ("cd app && npm install --no-audit", "npm install"),
            ("npm --prefix web ci", "npm ci"),
            ("sudo apt-get -y install jq", "apt-get install"),
            ("sudo -u ann -E pip install x", "pip install"),
            ("CI=1 pnpm i", "pnpm i"),
            ("python3 -m pip install -r requirements.txt", "pip install"),
            (
                "/usr/bin/python3.12 -m pip --quiet install x",
                "pip install",
            ),
            ("git -C /srv clone https://example.test/x y", "git clone"),
            ("true; /usr/bin/pip3 install x", "pip3 install"),
            ("yarn", "yarn"),
            ("yarn --frozen-lockfile", "yarn"),
            ("corepack yarn install", "yarn install"),
            ("uv pip install x", "uv pip install"),
            ("if ! npm ci; then exit 1; fi", "npm ci"),
            ("(cd a; npm ci)", "npm ci"),
            ("npm \\\n  ci", "npm ci"),
            ("echo \"a \\\" b\" && cargo fetch", "cargo fetch"),
        ] {
            assert_eq!(installer(command), Some(expected), "{command}");
        }
    }

    #[test]
    fn other_commands_are_not_installs() {
        for command in [
            "npm test",
            "echo 'npm install'",
            "git status",
            "grep \"; git clone\" x",
            "grep \"a\\\"; npm ci\" x",
            "",
            "pip --version",
            "uv pip list",
            "yarn test",
            "python install.py",
            "rustup target list",
            "echo npm install",
        ] {
            assert_eq!(installer(command), None, "{command}");
        }
    }

    #[test]
    fn longest_installer_matches_the_table() {
        assert!(
            INSTALLERS
                .iter()
                .all(|installer| installer.split(' ').count() <= LONGEST_INSTALLER)
        );
    }
}
