//! A package registry that stands in for the public registries. It has a single package for npm,
//! and the same for cargo and pip.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    extract::{Request, State},
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use tempfile::TempDir;
use tokio::{net::TcpListener, task::AbortHandle};

/// The package, which says hello.
pub const PACKAGE: &str = "greeting";
/// The package's archive for pip.
const WHEEL: &str = "greeting-1.0.0-py3-none-any.whl";

/// The registry, until dropped.
pub struct Registry {
    files: TempDir,
    port: u16,
    served: Arc<Mutex<Vec<String>>>,
    serving: AbortHandle,
}

impl Registry {
    /// Starts the registry server.
    pub async fn start() -> Self {
        let files = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        fill(files.path(), port);
        let served = Arc::<Mutex<Vec<String>>>::default();
        let state = (files.path().to_owned(), Arc::clone(&served));
        let router = Router::new().fallback(serve).with_state(state);
        let serving = tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            files,
            port,
            served,
            serving: serving.abort_handle(),
        }
    }

    /// Returns the server's port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the paths that it served.
    pub fn served(&self) -> Vec<String> {
        self.served.lock().unwrap().clone()
    }

    /// Returns files for a repository that needs the package, by npm's lockfile, cargo and pip.
    pub fn dependents(&self) -> Vec<(&'static str, String)> {
        let port = self.port;
        let root =
            format!(r#"{{"name":"app","version":"1.0.0","dependencies":{{"{PACKAGE}":"1.0.0"}}}}"#);
        let lock = format!(
            r#"{{"name":"app","version":"1.0.0","lockfileVersion":3,"packages":{{"":{root},
            "node_modules/{PACKAGE}":{{"version":"1.0.0","resolved":"http://localhost:{port}/{PACKAGE}-1.0.0.tgz"}}}}}}"#
        );
        let source = format!(
            "[source.crates-io]\nreplace-with = \"stand-in\"\n[source.stand-in]\nregistry = \"sparse+http://localhost:{port}/index/\"\n"
        );
        let manifest = format!(
            "[package]\nname = \"app\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n{PACKAGE} = \"1\"\n\n[workspace]\n"
        );
        vec![
            ("package.json", root),
            ("package-lock.json", lock),
            ("rust/.cargo/config.toml", source),
            ("rust/Cargo.toml", manifest),
            (
                "requirements.txt",
                format!("{PACKAGE} @ http://localhost:{port}/{WHEEL}\n"),
            ),
        ]
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.serving.abort();
        let _ = std::fs::remove_dir_all(self.files.path());
    }
}

async fn serve(
    State((files, served)): State<(PathBuf, Arc<Mutex<Vec<String>>>)>,
    request: Request,
) -> Response {
    let path = request.uri().path().trim_start_matches('/').to_owned();
    match std::fs::read(files.join(&path)) {
        Ok(content) => {
            served.lock().unwrap().push(path);
            content.into_response()
        }
        Err(_) => StatusCode::NOT_FOUND.into_response(),
    }
}

fn fill(folder: &Path, port: u16) {
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let package = format!(r#"{{"name":"{PACKAGE}","version":"1.0.0","main":"index.js"}}"#);
    write("package/package.json", &package);
    write("package/index.js", "module.exports = 'hello';\n");
    pack(folder, "package", &format!("{PACKAGE}-1.0.0.tgz"));
    pack_wheel(folder);
    let versioned = format!("{PACKAGE}-1.0.0");
    let manifest =
        format!("[package]\nname = \"{PACKAGE}\"\nversion = \"1.0.0\"\nedition = \"2021\"\n");
    write(&format!("{versioned}/Cargo.toml"), &manifest);
    write(
        &format!("{versioned}/src/lib.rs"),
        "pub const TEXT: &str = \"hello\";\n",
    );
    pack(folder, &versioned, &format!("{versioned}.crate"));
    let sum = output(folder, "sha256sum", &[&format!("{versioned}.crate")]);
    let sum = sum.split_whitespace().next().unwrap();
    let line = format!(
        r#"{{"name":"{PACKAGE}","vers":"1.0.0","deps":[],"cksum":"{sum}","features":{{}},"yanked":false}}"#
    );
    write(&format!("index/gr/ee/{PACKAGE}"), &format!("{line}\n"));
    write(
        "index/config.json",
        &format!(r#"{{"dl":"http://localhost:{port}/{{crate}}-{{version}}.crate"}}"#),
    );
}

/// Packs the package for pip.
fn pack_wheel(folder: &Path) {
    let about = format!("{PACKAGE}-1.0.0.dist-info");
    let parts = [
        (format!("{PACKAGE}.py"), "TEXT = 'hello'\n".to_owned()),
        (
            format!("{about}/METADATA"),
            format!("Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: 1.0.0\n"),
        ),
        (
            format!("{about}/WHEEL"),
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n".to_owned(),
        ),
        (
            format!("{about}/RECORD"),
            format!("{PACKAGE}.py,,\n{about}/METADATA,,\n{about}/WHEEL,,\n{about}/RECORD,,\n"),
        ),
    ];
    std::fs::create_dir_all(folder.join(&about)).unwrap();
    for (name, text) in parts {
        std::fs::write(folder.join(name), text).unwrap();
    }
    output(
        folder,
        "python3",
        &[
            "-m",
            "zipfile",
            "-c",
            WHEEL,
            &format!("{PACKAGE}.py"),
            &about,
        ],
    );
}

fn pack(folder: &Path, source: &str, archive: &str) {
    output(folder, "tar", &["czf", archive, source]);
}

fn output(folder: &Path, program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{program}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}
