//! `diff_digest`: summarizes a branch's changes in numbers and risks, never the diff itself.
//!
//! A review reads the digest first and then the files that matter. Only commits count: the range runs from the
//! merge base to the tree's commit.

mod changes;
mod risks;

use ars_agent::ToolSpec;
use ars_types::RefName;
use async_trait::async_trait;
use serde_json::{Value, json};

use super::{
    Effects, Need, Tool, ToolContext, ToolOutput,
    args::{Args, one_line, peek},
};
use crate::review::{Base, git_of_range};
use changes::Change;

/// Each file's change record and then the counts, NUL-terminated so that no path needs quoting.
const OPTIONS: &[&str] = &["--raw", "--numstat", "-z", "--find-renames"];
/// Maximum size in bytes of git's output: about ten thousand files.
const ANSWER_BYTES: usize = 2 << 20;
/// Files shown, those with the most changed lines first.
const MAX_FILES: usize = 200;
/// Files named per risk.
const MAX_NAMED: usize = 10;
/// Maximum characters per path.
const PATH_CHARS: usize = 200;

pub(super) struct DiffDigest;

#[async_trait]
impl Tool for DiffDigest {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "diff_digest".into(),
            description: "Sums up the commits since the branch left its base: lines added and removed per file, \
                          totals, and risks (migrations, lock files, CI, authentication, deleted tests, binaries, \
                          large changes). Shows no code; read the files for that. Uncommitted work is not counted."
                .into(),
            input_schema: json!({
                "type": "object",
                "properties": {
                    "base": {"type": "string", "description": "A branch, tag or commit to compare with; the repository's default branch when left out."}
                },
                "required": [],
                "additionalProperties": false
            }),
        }
    }

    fn needs(&self) -> &'static [Need] {
        &[]
    }

    fn effects(&self) -> Effects {
        Effects::None
    }

    fn summary(&self, input: &Value) -> String {
        one_line(&format!("diff_digest {}", peek(input, "base")))
    }

    async fn run(&self, context: ToolContext<'_>, input: &Value) -> ToolOutput {
        match run(context, input).await {
            Ok(output) | Err(output) => output,
        }
    }
}

async fn run(context: ToolContext<'_>, input: &Value) -> Result<ToolOutput, ToolOutput> {
    let named = Args::parse(input, &["base"])?
        .optional_text("base")?
        .map(|name| {
            // People and git itself write the branch with the remote.
            let name = name.trim();
            RefName::parse(name.strip_prefix("origin/").unwrap_or(name))
                .map_err(|error| ToolOutput::refused(format!("`base` is no ref: a {error}.")))
        });
    let named = named.transpose()?;
    let base = named.as_ref().map_or(Base::Default, Base::Exactly);
    let found = git_of_range(
        context.workspace()?,
        base,
        OPTIONS,
        ANSWER_BYTES,
        context.cancel,
    )
    .await?;
    let Some((base, answer)) = found else {
        return Err(ToolOutput::refused(
            "There is no such base here, or it shares no commit with this branch. `git branch -a` lists the branches.",
        ));
    };
    if answer.truncated {
        return Err(ToolOutput::refused(format!(
            "Too many files have changed since {base} to sum them up."
        )));
    }
    Ok(ToolOutput::text(digest(
        &base,
        changes::read(&answer.output),
    )))
}

fn digest(base: &str, mut changes: Vec<Change>) -> String {
    if changes.is_empty() {
        return format!("Nothing is committed here that {base} does not have.");
    }
    let (added, removed) = totals(&changes);
    let mut text = format!(
        "Since {base}: {} files, +{added} -{removed} lines.\n",
        changes.len()
    );
    let risks = risks::raised(&changes);
    if !risks.is_empty() {
        text.push_str("\nRisks:\n");
    }
    for (risk, concerned) in risks {
        let named: Vec<_> = concerned
            .iter()
            .take(MAX_NAMED)
            .map(|change| shown(&change.path))
            .collect();
        let more = concerned.len() - named.len();
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        text.push_str(&format!("- {risk}: {}{more}\n", named.join(", ")));
    }
    text.push_str("\nFiles:\n");
    changes.sort_by_key(|change| std::cmp::Reverse(change.lines()));
    changes
        .iter()
        .take(MAX_FILES)
        .for_each(|change| text.push_str(&line(change)));
    let rest = &changes[changes.len().min(MAX_FILES)..];
    if !rest.is_empty() {
        let (added, removed) = totals(rest);
        text.push_str(&format!(
            "[{} more files, +{added} -{removed}]\n",
            rest.len()
        ));
    }
    text
}

fn totals(changes: &[Change]) -> (u64, u64) {
    let counts = changes.iter().filter_map(|change| change.counts);
    counts.fold((0, 0), |(added, removed), (plus, minus)| {
        (added + plus, removed + minus)
    })
}

fn line(change: &Change) -> String {
    let counts = change.counts.map_or("binary".to_owned(), |(plus, minus)| {
        format!("+{plus} -{minus}")
    });
    let from = change
        .from
        .as_deref()
        .map_or(String::new(), |from| format!(" (was {})", shown(from)));
    format!("{} {counts} {}{from}\n", change.kind, shown(&change.path))
}

/// Flattens and truncates a path, because the committer chose the characters.
fn shown(path: &str) -> String {
    let plain: String = path
        .chars()
        .map(|char| if char.is_control() { '\u{fffd}' } else { char })
        .collect();
    ars_events::cap(&plain, PATH_CHARS).into_owned()
}

#[cfg(test)]
#[path = "diff_digest_tests.rs"]
mod tests;
