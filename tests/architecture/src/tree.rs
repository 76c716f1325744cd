//! The checkout's files, as git would commit them.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::Source;

/// A single text file.
#[derive(Debug)]
pub struct File {
    /// Path relative to the root, with forward slashes.
    pub path: String,
    /// The file's whole content.
    pub text: String,
}

/// All text files, and the Rust among them parsed.
pub struct Tree {
    /// Every text file.
    pub files: Vec<File>,
    /// The parsed Rust files.
    pub sources: Vec<Source>,
}

impl Tree {
    /// Reads all files that git tracks or would add, so that a rule applies before the commit.
    pub fn load(root: &Path) -> Result<Self> {
        let listed = Command::new("git")
            .args([
                "ls-files",
                "-z",
                "--cached",
                "--others",
                "--exclude-standard",
                "--deduplicate",
            ])
            .current_dir(root)
            .output()
            .context("git cannot be started")?;
        ensure!(
            listed.status.success(),
            "git ls-files: {}",
            String::from_utf8_lossy(&listed.stderr)
        );
        let mut files = Vec::new();
        for path in String::from_utf8(listed.stdout)?.split_terminator('\0') {
            // Deleted files are still listed until the commit; images are not text.
            if let Ok(text) = fs::read_to_string(root.join(path)) {
                files.push(File {
                    path: path.to_owned(),
                    text,
                });
            }
        }
        ensure!(!files.is_empty(), "no files in {}", root.display());
        Self::from_files(files)
    }

    /// Returns a tree with the given files.
    pub fn from_files(files: Vec<File>) -> Result<Self> {
        let rust = files.iter().filter(|file| file.path.ends_with(".rs"));
        let sources = rust
            .map(|file| Source::parse(&file.path, &file.text))
            .collect::<Result<_>>()?;
        Ok(Self { files, sources })
    }

    /// Returns the files with a matching path.
    pub fn with_path<'a>(
        &'a self,
        wanted: impl Fn(&str) -> bool + 'a,
    ) -> impl Iterator<Item = &'a File> {
        self.files.iter().filter(move |file| wanted(&file.path))
    }

    /// Returns a file's text.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files
            .iter()
            .find(|file| file.path == path)
            .map(|file| file.text.as_str())
    }
}

/// Returns a tree for the rules' own tests.
#[cfg(test)]
pub(crate) fn planted(files: &[(&str, &str)]) -> Tree {
    let files = files.iter().map(|(path, text)| File {
        path: (*path).into(),
        text: (*text).into(),
    });
    Tree::from_files(files.collect()).unwrap()
}
