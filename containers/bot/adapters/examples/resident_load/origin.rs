//! The load's repositories, at a code host that is a folder.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

/// Files in a folder.
const FOLDER_FILES: usize = 100;
/// Folder levels in the hostile repository's long path, and the length of each name.
const DEEP: (usize, usize) = (12, 200);
/// Size of the hostile repository's huge file in bytes.
const HUGE_BYTES: usize = 64 << 20;

/// A repository used as load.
#[derive(Clone, Copy)]
pub struct Shape {
    files: usize,
    dependencies: usize,
    /// Has long paths, links, a huge file, a submodule without content and an LFS pointer.
    hostile: bool,
}

impl Shape {
    /// Returns the repository with this name.
    pub fn named(name: &str) -> Option<Self> {
        let shape = |files, dependencies, hostile| {
            Some(Self {
                files,
                dependencies,
                hostile,
            })
        };
        match name {
            "tiny" => shape(60, 40, false),
            "small" => shape(1_700, 2_000, false),
            "medium" => shape(50_000, 20_000, false),
            "hostile" => shape(200, 200, true),
            _ => None,
        }
    }

    /// Returns the command that installs the dependencies.
    pub fn install(self) -> String {
        format!(
            "mkdir -p node_modules/dep && cd node_modules/dep && for i in $(seq {}); do echo \"module.exports = $i\" \
             >$i.js; done",
            self.dependencies
        )
    }
}

/// A repository at the code host, with a clone that pushes to it.
pub struct Origin {
    /// Path to the bare repository.
    pub path: PathBuf,
    source: PathBuf,
}

impl Origin {
    /// Makes the repository in a folder.
    pub fn make(folder: &Path, shape: Shape) -> Self {
        let source = folder.join("source");
        for number in 0..shape.files {
            let parent = source.join(format!("src/{}", number / FOLDER_FILES));
            fs::create_dir_all(&parent).unwrap();
            fs::write(
                parent.join(format!("{number}.txt")),
                format!("{number}\n").repeat(40),
            )
            .unwrap();
        }
        fs::write(source.join("README.md"), "bench\n").unwrap();
        fs::write(source.join("package-lock.json"), "{}\n").unwrap();
        fs::write(source.join(".gitignore"), "node_modules\n").unwrap();
        if shape.hostile {
            add_hostile_files(&source);
        }
        git(&source, &["init", "-q"]);
        git(&source, &["add", "."]);
        if shape.hostile {
            let submodule = format!("160000,{},vendor/gone", "1".repeat(40));
            git(
                &source,
                &["update-index", "--add", "--cacheinfo", &submodule],
            );
        }
        git(&source, &["commit", "-qm", "first"]);
        git(folder, &["clone", "-q", "--bare", "source", "origin.git"]);
        Self {
            path: folder.join("origin.git"),
            source,
        }
    }

    /// Changes a file on the default branch.
    pub fn change(&self, file: &str, text: &str) {
        fs::write(self.source.join(file), text).unwrap();
        git(&self.source, &["commit", "-qam", "change"]);
        git(
            &self.source,
            &["push", "-q", &self.path.display().to_string(), "main"],
        );
    }
}

fn add_hostile_files(source: &Path) {
    let long = "d".repeat(DEEP.1);
    let deep = (0..DEEP.0).fold(source.to_owned(), |path, _| path.join(&long));
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("file name with\nline feed"), "deep\n").unwrap();
    for (name, target) in [
        ("loop", "loop"),
        ("outside", "/etc/passwd"),
        ("gone", "no/such/file"),
    ] {
        symlink(target, source.join(name)).unwrap();
    }
    fs::write(
        source.join("huge.bin"),
        "0123456789abcdef".repeat(HUGE_BYTES / 16),
    )
    .unwrap();
    let module =
        "[submodule \"gone\"]\n\tpath = vendor/gone\n\turl = https://invalid.invalid/gone.git\n";
    fs::write(source.join(".gitmodules"), module).unwrap();
    fs::write(
        source.join(".gitattributes"),
        "*.lfs filter=lfs diff=lfs merge=lfs -text\n",
    )
    .unwrap();
    let pointer = format!(
        "version https://git-lfs.github.com/spec/v1\noid sha256:{}\nsize 1000000000\n",
        "a".repeat(64)
    );
    fs::write(source.join("model.lfs"), pointer).unwrap();
}

/// Runs git as an operator would.
pub fn git(folder: &Path, arguments: &[&str]) {
    let settings = [
        "-c",
        "user.name=b",
        "-c",
        "user.email=b@localhost",
        "-c",
        "init.defaultBranch=main",
        "-c",
        "gc.auto=0",
    ];
    let status = Command::new("git")
        .args(settings)
        .args(arguments)
        .current_dir(folder)
        .status()
        .unwrap();
    assert!(status.success(), "{arguments:?}");
}
