//! Which shell commands are tests or builds, so that their exit code is evidence.

/// Characters with a meaning in a shell: with one, the exit code may be another program's.
const SPECIAL: &[char] = &['|', ';', '&', '<', '>', '`', '$', '(', ')', '{', '}', '!', '#', '\\', '\n', '\r'];
/// Programs that may precede a test or build in a chain.
/// None of them ends the shell, replaces a program or restores other files.
const OTHERS: [&str; 6] = ["cd", "ls", "pwd", "pip", "mkdir", "cat"];
/// Tests and builds: the program, its subcommands (none means any words), and the name of the result.
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

/// Returns the name of the result of a command, such as `test`, if its exit code is one.
///
/// Plain commands count, and chains of them with `&&`, of which the last part names the result. A pipe, a list with `;`
/// or an assignment may hide a failure or replace the program.
pub fn check_of(command: &str) -> Option<&'static str> {
    let mut name = None;
    for part in command.trim().split("&&") {
        if part.contains(SPECIAL) || !has_closed_quotes(part) {
            return None;
        }
        let words: Vec<&str> = part.split_whitespace().collect();
        let own = name_of(&words);
        let is_harmless =
            words.first().is_some_and(|first| OTHERS.contains(first) || is_check_program(first));
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

fn is_check_program(word: &str) -> bool {
    CHECKS.iter().any(|(own, ..)| *own == word)
}

fn has_closed_quotes(part: &str) -> bool {
    ['\'', '"'].iter().all(|quote| part.matches(*quote).count() % 2 == 0)
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
            assert_eq!(check_of(command), expected, "{command}");
        }
    }
}
