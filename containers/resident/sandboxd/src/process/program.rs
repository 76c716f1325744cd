//! A program before it starts.

use std::{
    ffi::OsString,
    fs::File,
    path::{Path, PathBuf},
};

use ars_resident::plan::User;

use crate::confine::Place;

/// A program before it starts.
#[derive(Debug)]
pub(crate) struct Program {
    /// Absolute path and arguments.
    pub(crate) words: Vec<OsString>,
    /// Folder to run in.
    pub(crate) cwd: PathBuf,
    /// User to run as.
    pub(crate) user: User,
    /// Variables besides those that all programs get.
    pub(crate) variables: Vec<(OsString, OsString)>,
    pub(crate) input: Input,
    /// The program's folders. `None` if only the daemon chose arguments and folder.
    pub(crate) place: Option<Place>,
    /// Whether it may share a sandbox.
    pub(crate) sharing: Sharing,
}

/// Which programs run in a sandbox together, on a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// This program only.
    Alone,
    /// The tree's commands in turn.
    WithTree,
}

/// What a program reads as input.
#[derive(Debug)]
pub(crate) enum Input {
    /// Nothing at all.
    Empty,
    /// A file, from the current position.
    File(File),
}

impl Program {
    /// Makes a program that runs as the daemon's own user.
    pub(crate) fn of_root(program: &Path, cwd: &Path) -> Self {
        Self {
            words: vec![program.into()],
            cwd: cwd.into(),
            user: User::ROOT,
            variables: Vec::new(),
            input: Input::Empty,
            place: None,
            sharing: Sharing::Alone,
        }
    }

    pub(crate) fn args<S: Into<OsString>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.words.extend(args.into_iter().map(Into::into));
        self
    }
}
