//! Which shell commands are tests or builds, so that their exit code is evidence.

use super::evidence::ExpectedCheck;

/// Characters with a meaning in a shell: they can make the exit code another program's.
const SPECIAL: &[char] = &[
    '|', ';', '&', '<', '>', '`', '$', '(', ')', '{', '}', '!', '#', '\\', '\n', '\r',
];
/// Programs that may precede a test or build in a chain.
/// None of them ends the shell, replaces a program or restores other files.
const OTHERS: [&str; 6] = ["cd", "ls", "pwd", "pip", "mkdir", "cat"];
/// Programs without effect, which a table names where a repository has no command.
const NO_OPS: [&str; 2] = ["true", ":"];
/// Tests and builds: the program, subcommands (none means any words), and the result's name.
const CHECKS: [(&str, &[&str], &str); 21] = [
    ("cargo", &["test", "nextest"], "test"),
    ("cargo", &["build", "check"], "build"),
    ("cargo", &["clippy", "fmt"], "lint"),
    ("make", &["test", "check"], "test"),
    ("make", &["build", "all"], "build"),
    ("make", &["lint"], "lint"),
    ("pytest", &[], "test"),
    ("python", &["-m pytest", "-m unittest"], "test"),
    ("python3", &["-m pytest", "-m unittest"], "test"),
    ("npm", &["test", "run test"], "test"),
    ("npm", &["run build"], "build"),
    ("npm", &["run lint"], "lint"),
    ("pnpm", &["test", "run test"], "test"),
    ("pnpm", &["build", "run build"], "build"),
    ("yarn", &["test"], "test"),
    ("yarn", &["build"], "build"),
    ("go", &["test"], "test"),
    ("go", &["build", "vet"], "build"),
    ("mvn", &["test", "verify"], "test"),
    ("gradle", &["test", "check"], "test"),
    ("ruff", &["check"], "lint"),
];

/// The commands from a repository's own table, such as `uv run pytest`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnownCommands {
    /// Words in a plain command, and the result's name. A command without a name may precede
    /// others.
    parts: Vec<(Vec<String>, Option<&'static str>)>,
    /// The first command for each result, even if it is no evidence.
    expected: Vec<ExpectedCheck>,
}

impl KnownCommands {
    /// Adds the command with this name in the table: `test`, `build` or `install`. A command that
    /// may report another program's exit code is expected only, because it is no evidence.
    pub fn add(&mut self, name: &str, command: &str) {
        let result = match name {
            "test" => Some("test"),
            "build" => Some("build"),
            "install" => None,
            _ => return,
        };
        let parts: Vec<Vec<&str>> = command
            .trim()
            .split("&&")
            .map(|part| part.split_whitespace().collect())
            .collect();
        if let Some(own) = result
            && parts.iter().any(|words| has_effect(words))
            && !self.expected.iter().any(|one| one.name == own)
        {
            self.expected.push(ExpectedCheck {
                name: own,
                command: command.trim().to_owned(),
            });
        }
        if command
            .trim()
            .split("&&")
            .any(|part| part.contains(SPECIAL) || !has_closed_quotes(part))
        {
            return;
        }
        for (index, words) in parts.iter().enumerate() {
            if has_effect(words) {
                let own = words.iter().map(|word| (*word).to_owned()).collect();
                self.parts
                    .push((own, result.filter(|_| index + 1 == parts.len())));
            }
        }
    }

    /// Returns the table's test and build commands, without those that have no effect.
    pub fn expected(&self) -> &[ExpectedCheck] {
        &self.expected
    }

    /// Returns the result's name if these words are a command in the table. The inner `None` is an
    /// installation.
    fn find(&self, words: &[&str]) -> Option<Option<&'static str>> {
        let is_this =
            |own: &[String]| own.len() <= words.len() && own.iter().zip(words).all(|(a, b)| a == b);
        let found = self.parts.iter().filter(|(own, _)| is_this(own));
        found
            .max_by_key(|(own, name)| (own.len(), name.is_some()))
            .map(|(_, name)| *name)
    }
}

/// Returns a command's result name, such as `test`, if the exit code is such a result.
///
/// Plain commands count, and chains with `&&` whose last part names the result. A pipe, a list with
/// `;` or an assignment may hide a failure or replace the program.
pub fn check_of(command: &str, known: &KnownCommands) -> Option<&'static str> {
    let mut name = None;
    for part in command.trim().split("&&") {
        if part.contains(SPECIAL) || !has_closed_quotes(part) {
            return None;
        }
        let words: Vec<&str> = part.split_whitespace().collect();
        let of_table = known.find(&words);
        let own = name_of(&words).or(of_table.flatten());
        let is_harmless = of_table.is_some()
            || words
                .first()
                .is_some_and(|first| OTHERS.contains(first) || is_check_program(first));
        if own.is_none() && !is_harmless {
            return None;
        }
        name = own.or(name);
    }
    name
}

fn name_of(words: &[&str]) -> Option<&'static str> {
    let (program, rest) = words.split_first()?;
    let matches = |subcommand: &&str| {
        let wanted: Vec<&str> = subcommand.split(' ').collect();
        rest.starts_with(&wanted)
    };
    let found = CHECKS.iter().find(|(own, subcommands, _)| {
        own == program && (subcommands.is_empty() || subcommands.iter().any(matches))
    });
    found.map(|(_, _, name)| *name)
}

/// Returns whether a plain command's words do more than prepare the next command.
fn has_effect(words: &[&str]) -> bool {
    words
        .first()
        .is_some_and(|first| !NO_OPS.contains(first) && !OTHERS.contains(first))
}

fn is_check_program(word: &str) -> bool {
    CHECKS.iter().any(|(own, ..)| *own == word)
}

fn has_closed_quotes(part: &str) -> bool {
    ['\'', '"']
        .iter()
        .all(|quote| part.matches(*quote).count() % 2 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_commands_and_chains_are_evidence() {
        for (command, expected) in [
            ("cargo test -p app", Some("test")),
            ("cd app && npm ci && npm test", Some("test")),
            ("make test && make build", Some("build")),
            ("python -m pytest -q", Some("test")),
            ("pytest -k 'a or b'", Some("test")),
            ("cargo fmt --check && cargo test", Some("test")),
            ("cargo run", None),
            ("ls", None),
            ("", None),
            ("cargo test | tail", None),
            ("cargo test || true", None),
            ("cargo test; true", None),
            ("cargo test & true", None),
            ("cargo test > log", None),
            ("cargo test\ntrue", None),
            ("exit 0 && cargo test", None),
            ("alias cargo=true && cargo test", None),
            ("PATH=x cargo test", None),
            ("./cargo test", None),
            ("! cargo test", None),
            ("cargo test && sh x.sh", None),
            ("cargo test && git reset --hard", None),
            ("cargo $(echo run) test", None),
        ] {
            assert_eq!(
                check_of(command, &KnownCommands::default()),
                expected,
                "{command}"
            );
        }
    }

    #[test]
    fn commands_of_the_table_are_evidence() {
        let mut known = KnownCommands::default();
        for (name, command) in [
            ("test", "uv run pytest"),
            ("build", "cd site && ./build.sh --all"),
            ("install", "uv sync --frozen"),
            ("test", "./hidden.sh | tee log"),
            ("build", "true"),
            ("deploy", "./deploy.sh"),
        ] {
            known.add(name, command);
        }
        for (command, expected) in [
            ("uv run pytest -q tests", Some("test")),
            ("uv sync --frozen && uv run pytest", Some("test")),
            ("cd site && ./build.sh --all", Some("build")),
            ("make lint && uv run pytest", Some("test")),
            ("uv sync --frozen", None),
            ("uv run other", None),
            ("uv run pytest | tail", None),
            ("uv run pytest && sh x.sh", None),
            ("./build.sh", None),
            ("./hidden.sh", None),
            ("./deploy.sh", None),
            ("true", None),
        ] {
            assert_eq!(check_of(command, &known), expected, "{command}");
        }
        let expected: Vec<_> = known
            .expected()
            .iter()
            .map(|one| (one.name, one.command.as_str()))
            .collect();
        assert_eq!(
            expected,
            [
                ("test", "uv run pytest"),
                ("build", "cd site && ./build.sh --all")
            ]
        );
    }

    #[test]
    fn only_commands_with_an_effect_are_expected() {
        let mut known = KnownCommands::default();
        for (name, command) in [
            ("build", "true"),
            ("install", "npm ci"),
            ("test", "./hidden.sh | tee log"),
        ] {
            known.add(name, command);
        }
        let expected: Vec<_> = known
            .expected()
            .iter()
            .map(|one| (one.name, one.command.as_str()))
            .collect();
        assert_eq!(expected, [("test", "./hidden.sh | tee log")]);
        assert_eq!(check_of("./hidden.sh | tee log", &known), None);
    }
}
