//! An entry's view in a tree: hard links to its files, and copies where tools change in place.

use std::{os::fd::OwnedFd, path::Path};

use ars_resident::thread::Deps;
use rustix::fs::{AtFlags, Mode, fchown, mkdirat, renameat, statat};
use rustix::io::Errno;

use super::folders::{NODE_MODULES, find};
use crate::{
    failure::{Context as _, Result},
    places::open_beneath,
    settings::StoreLinks,
    stop::Stop,
    users::Owner,
    walk::{Copy, LinkRule},
};

/// The pnpm folder with all packages' content. It is linked although the name begins with a dot.
const PNPM: &str = ".pnpm";
/// A tool's cache folder.
const CACHE: &str = ".cache";
/// A view's name before the rename.
const BESIDE: &str = ".ars-node-modules";

/// Links an entry into a tree. The tree folders that are replaced move to `trash`.
pub(crate) fn link_view(
    entry: &OwnedFd,
    tree: &OwnedFd,
    trash: &OwnedFd,
    links: StoreLinks,
    owner: Option<Owner>,
    stop: &Stop,
) -> Result<Deps> {
    let rule: Option<LinkRule> = match links {
        StoreLinks::Hard => Some(is_linked),
        StoreLinks::Copy => None,
    };
    let copy = Copy {
        owner,
        links: rule,
        is_writable: true,
        stop,
    };
    let mut deps = if links == StoreLinks::Hard {
        Deps::Hardlink
    } else {
        Deps::Copy
    };
    for (number, path) in find(entry, stop)?.into_iter().enumerate() {
        let parent = path.parent().unwrap_or(Path::new("."));
        // A package that this commit does not have, or a link in its place, gets nothing.
        let Ok(folder) = open_beneath(tree, parent) else {
            continue;
        };
        move_away(&folder, BESIDE, trash, &format!("{number}-partial"))?;
        mkdirat(&folder, BESIDE, Mode::from_raw_mode(0o755)).context("deps")?;
        let target = open_beneath(&folder, Path::new(BESIDE)).context("deps")?;
        if let Some(owner) = owner {
            fchown(&target, Some(owner.uid()), Some(owner.gid())).context("deps")?;
        }
        let source = open_beneath(entry, &path).context("deps")?;
        if copy.run(&source, &target)?.unlinked > 0 {
            deps = Deps::Copy;
        }
        move_away(&folder, NODE_MODULES, trash, &number.to_string())?;
        renameat(&folder, BESIDE, &folder, NODE_MODULES).context("deps")?;
    }
    Ok(deps)
}

/// Moves a path to another folder on the same disk, where it is removed later.
fn move_away(folder: &OwnedFd, name: &str, trash: &OwnedFd, new: &str) -> Result<()> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => renameat(folder, name, trash, new).context("deps"),
        Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error).context("deps"),
    }
}

/// Decides by a path in a dependency folder. Tool caches and settings become copies.
fn is_linked(path: &Path) -> bool {
    let path = path.strip_prefix(".").unwrap_or(path);
    let is_tools = path.iter().next().is_some_and(|first| {
        let name = first.to_string_lossy();
        name.starts_with('.') && name != PNPM
    });
    !is_tools && !path.iter().any(|part| part == CACHE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_copied_and_packages_linked() {
        for (path, is_expected) in [
            ("./a/index.js", true),
            ("./.pnpm/a@1/node_modules/a/index.js", true),
            ("./a/.hidden/x", true),
            ("./.vite/x", false),
            ("./.package-lock.json", false),
            ("./a/.cache/x", false),
            ("./.pnpm/a@1/node_modules/a/.cache/x", false),
        ] {
            assert_eq!(is_linked(Path::new(path)), is_expected, "{path}");
        }
    }
}
