//! The branch for a run's commits.

use ars_types::{InvalidName, RefName, RunId};

/// Prefix of the branches that the service may push to.
const PREFIX: &str = "ars/";
/// Maximum length of the words in a branch name, in characters.
const MAX_WORDS_CHARS: usize = 40;

/// Returns a run's branch: `ars/<run id>/<title words>`.
///
/// The run id is a separate part, so no other run has the same branch, whatever the title. The name
/// passes to git as a single argument and is no option.
///
/// # Errors
/// Never with a valid run id; the ref type checks it again.
pub fn branch_name(run: &RunId, title: &str) -> Result<RefName, InvalidName> {
    let words = words_of(title);
    let end = if words.is_empty() {
        words
    } else {
        format!("/{words}")
    };
    RefName::parse(format!("{PREFIX}{run}{end}"))
}

/// Returns the run that owns this branch.
pub fn run_of_branch(branch: &str) -> Option<RunId> {
    let rest = branch.strip_prefix(PREFIX)?;
    RunId::parse(rest.split('/').next().unwrap_or(rest)).ok()
}

fn words_of(title: &str) -> String {
    let mut words = String::new();
    for word in title
        .split(|char: char| !char.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
    {
        if words.len() + word.len() >= MAX_WORDS_CHARS {
            break;
        }
        if !words.is_empty() {
            words.push('-');
        }
        words.push_str(&word.to_ascii_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn branch(id: &str, title: &str) -> String {
        branch_name(&RunId::parse(id).unwrap(), title)
            .unwrap()
            .to_string()
    }

    #[test]
    fn branch_names_its_run() {
        assert_eq!(
            branch("r-1", "Fix the `login` page!"),
            "ars/r-1/fix-the-login-page"
        );
        assert_eq!(branch("r-1", "…"), "ars/r-1");
        assert_eq!(
            branch("r-1", &"word ".repeat(50)),
            format!("ars/r-1/{}word", "word-".repeat(7))
        );
        assert_eq!(run_of_branch("ars/r-1/fix").unwrap().as_str(), "r-1");
        for other in ["main", "ars/", "ars//x", "x/ars/r-1", "ars/a.b/c"] {
            assert_eq!(run_of_branch(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn branches_of_runs_differ(
            a in "[A-Za-z0-9_-]{1,64}", b in "[A-Za-z0-9_-]{1,64}", one in "\\PC{0,80}", two in "\\PC{0,80}"
        ) {
            let name = branch(&a, &one);
            prop_assert_eq!(run_of_branch(&name), RunId::parse(a.clone()).ok());
            prop_assert!(a == b || name != branch(&b, &two));
        }
    }
}
