//! Versions in the residents' image are exact, and the build compares the installed versions.

use regex::Regex;

use crate::{Tree, Violation, at};

/// The image with toolchains.
const IMAGE: &str = "containers/resident/Dockerfile";

/// Reports versions that can change by themselves.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let Some(image) = tree.text(IMAGE) else {
        return Vec::new();
    };
    let argument =
        Regex::new(r"^ARG ([A-Z]+)=([0-9][^ ]*)$").unwrap_or_else(|error| broken(&error));
    let exact = Regex::new(r"^[0-9]+\.[0-9]+\.[0-9]+$").unwrap_or_else(|error| broken(&error));
    let is_verified = |name: &str| {
        let value = format!("${{{name}}}");
        image
            .lines()
            .any(|line| line.contains("version") && line.contains(&value))
    };
    let mut found = Vec::new();
    for (index, line) in image.lines().enumerate() {
        if let Some(captures) = argument.captures(line) {
            let (name, version) = (&captures[1], &captures[2]);
            if !exact.is_match(version) {
                found.push(at(
                    IMAGE,
                    index + 1,
                    format!("{name} is {version}: name all three numbers"),
                ));
            }
            if !is_verified(name) {
                found.push(at(
                    IMAGE,
                    index + 1,
                    format!("no step of the build compares {name}"),
                ));
            }
        }
        if ["@latest", ":latest", "@next"]
            .iter()
            .any(|tag| line.contains(tag))
        {
            found.push(at(IMAGE, index + 1, "a tag that moves"));
        }
    }
    found
}

fn broken(error: &regex::Error) -> Regex {
    panic!("a constant pattern is broken: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted;

    fn found(text: &str) -> usize {
        check(&planted(&[(IMAGE, text)])).len()
    }

    #[test]
    fn moving_versions_are_reported() {
        let verified = "RUN test \"$(node --version)\" = \"v${NODE}\" \\\n";
        assert_eq!(
            found(&format!(
                "ARG BASE=debian:bookworm-slim\nARG NODE=22.20.0\n{verified}"
            )),
            0
        );
        assert_eq!(found(&format!("ARG NODE=22\n{verified}")), 1);
        assert_eq!(found("ARG NODE=22.20.0\n"), 1);
        assert_eq!(found("RUN corepack prepare pnpm@latest\n"), 1);
    }
}
