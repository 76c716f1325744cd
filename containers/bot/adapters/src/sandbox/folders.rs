//! The folders and files that commands may read and execute, besides their own.

use std::{
    env::split_paths,
    ffi::OsString,
    path::{Path, PathBuf},
};

/// Folders with programs and libraries.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/run/current-system",
    "/sys/devices/system/cpu",
];
/// Program and library settings in `/etc`. Keys, passwords and service settings are not among them.
const SETTINGS: &[&str] = &[
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "crypto-policies",
    "debian_version",
    "fonts",
    "gai.conf",
    "group",
    "host.conf",
    "hosts",
    "inputrc",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "ld-musl-x86_64.path",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "localtime",
    "magic",
    "magic.mime",
    "maven",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "perl",
    "pki/ca-trust",
    "pki/java",
    "pki/tls/cert.pem",
    "pki/tls/certs",
    "protocols",
    "python3",
    "python3.11",
    "python3.12",
    "python3.13",
    "resolv.conf",
    "services",
    "shells",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/openssl.cnf",
    "static",
    "terminfo",
    "timezone",
    "xml",
];
/// Folders beside a `bin` that the programs there need.
const BESIDE_BIN: &[&str] = &["lib", "lib64", "libexec", "include"];
/// Variables that name a toolchain folder.
const TOOLCHAINS: &[&str] = &["RUSTUP_HOME", "JAVA_HOME", "GOROOT", "PYENV_ROOT"];

/// Readable and executable folders and files that exist. None contains a hidden folder.
#[derive(Debug, Clone, Default)]
pub(crate) struct Folders {
    paths: Vec<PathBuf>,
}

impl Folders {
    /// Selects them. `hidden` are the data directory and the workspace folder, `home` is the user's
    /// home directory.
    pub(crate) fn select(
        variables: &[(OsString, OsString)],
        readable: &[PathBuf],
        hidden: &[&Path],
        home: Option<&Path>,
    ) -> Self {
        let real = |path: &&Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let hidden: Vec<PathBuf> = hidden.iter().map(real).collect();
        let home = home.and_then(|home| home.canonicalize().ok());
        let mut selected = Self::default();
        for path in SYSTEM {
            selected.add(Path::new(path).to_path_buf(), &hidden);
        }
        for name in SETTINGS {
            selected.add(Path::new("/etc").join(name), &hidden);
        }
        let of = |name: &str| {
            variables
                .iter()
                .find(|(known, _)| known == name)
                .map(|(_, value)| value)
        };
        let toolchains = TOOLCHAINS
            .iter()
            .filter_map(|name| of(name).map(PathBuf::from));
        let on_path =
            of("PATH").map(|path| split_paths(path).flat_map(with_parts).collect::<Vec<_>>());
        for path in toolchains.chain(on_path.unwrap_or_default()) {
            let is_home = home
                .as_ref()
                .is_some_and(|home| path.canonicalize().is_ok_and(|path| home.starts_with(path)));
            if !is_home {
                selected.add(path, &hidden);
            }
        }
        for path in readable {
            selected.add(path.clone(), &hidden);
        }
        selected
    }

    fn add(&mut self, path: PathBuf, hidden: &[PathBuf]) {
        let Ok(real) = path.canonicalize() else {
            return;
        };
        let is_covered =
            |known: &PathBuf| path == *known || path.starts_with(known) && !known.is_symlink();
        let is_open = !hidden
            .iter()
            .any(|hidden| hidden.starts_with(&real) || real.starts_with(hidden));
        if path.is_absolute()
            && real != Path::new("/")
            && is_open
            && !self.paths.iter().any(is_covered)
        {
            self.paths.push(path);
        }
    }

    /// Returns the selected paths.
    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }
}

/// Returns a search path folder with the folders that the programs there need.
fn with_parts(folder: PathBuf) -> Vec<PathBuf> {
    let parent = folder.parent().map(Path::to_path_buf);
    match (folder.file_name().and_then(|name| name.to_str()), parent) {
        // Shims start the program in a version beside them.
        (Some("shims"), Some(parent)) => vec![parent],
        (Some("bin"), Some(parent)) => BESIDE_BIN
            .iter()
            .map(|name| parent.join(name))
            .chain([folder])
            .collect(),
        _ => vec![folder],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(path: &str, readable: &[PathBuf], hidden: &Path, home: &Path) -> Vec<PathBuf> {
        Folders::select(
            &[("PATH".into(), path.into())],
            readable,
            &[hidden],
            Some(home),
        )
        .paths
    }

    #[test]
    fn data_and_home_are_never_readable() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        for name in [
            "bin",
            "tools/bin",
            "tools/lib",
            "versions/shims",
            ".local/share/ars",
        ] {
            std::fs::create_dir_all(home.join(name)).unwrap();
        }
        let data = home.join(".local/share/ars");
        let shown = |name: &str| home.join(name).display().to_string();
        let path = [
            shown(""),
            shown("bin"),
            shown("tools/bin"),
            shown("versions/shims"),
            shown(".local"),
        ]
        .join(":");
        let paths = selected(
            &format!("{path}:.:relative/bin:/:/bin:/sbin"),
            &[data.clone(), home.clone()],
            &data,
            &home,
        );
        let own: Vec<_> = paths
            .iter()
            .filter_map(|path| path.strip_prefix(&home).ok())
            .collect();
        let expected = ["bin", "tools/lib", "tools/bin", "versions"].map(Path::new);
        assert_eq!(own, expected);
        assert!(
            paths.contains(&"/usr".into()) && !paths.contains(&"/etc".into()),
            "{paths:?}"
        );
        assert_eq!(
            paths
                .iter()
                .filter(|path| path.ends_with("bin") && path.parent() == Some(Path::new("/")))
                .count(),
            1
        );
        assert!(
            !paths
                .iter()
                .any(|path| path.ends_with("shadow") || path.as_os_str() == "/"),
            "{paths:?}"
        );
    }
}
