//! A program before its start.

use std::{
    ffi::OsString,
    fs::File,
    path::{Path, PathBuf},
};

use ars_resident::plan::User;

use crate::confine::Place;

/// A program before its start.
#[derive(Debug)]
pub(crate) struct Program {
    /// Absolute path and arguments.
    pub(crate) words: Vec<OsString>,
    /// Folder.
    pub(crate) cwd: PathBuf,
    /// Its user.
    pub(crate) user: User,
    /// Variables besides those of all programs.
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// Input.
    pub(crate) input: Input,
    /// Its folders. `None` if only the daemon chose arguments and folder.
    pub(crate) place: Option<Place>,
    /// Whether it may share a sandbox.
    pub(crate) sharing: Sharing,
}

/// The programs that run in one sandbox, on a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// This one only.
    Alone,
    /// One command of its tree after the other.
    WithTree,
}

/// Input of a program.
#[derive(Debug)]
pub(crate) enum Input {
    /// Nothing.
    Empty,
    /// A file from its current position.
    File(File),
}

impl Program {
    /// Makes a program of the daemon's own user.
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

    /// Adds arguments.
    pub(crate) fn args<S: Into<OsString>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.words.extend(args.into_iter().map(Into::into));
        self
    }
}
