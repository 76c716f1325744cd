//! A browser under test: chromedriver as a child process, controlled over a JSON protocol.
//!
//! Few protocol calls are needed. A client library would be larger than the pages under test.

use std::{
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use base64::{Engine as _, prelude::BASE64_STANDARD as BASE64};
use reqwest::{Client, Method};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

/// Timeout, generous for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Interval between polls.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Height of a page's visible part.
const HEIGHT: u64 = 900;

/// Debian's browser. The arguments keep it off the network and out of the home directory, and make
/// pictures independent of the machine.
const CHROMIUM: &str = "/usr/bin/chromium";
const FLAGS: &str = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
    --disable-background-networking --disable-component-update --disable-sync --disable-dev-shm-usage \
    --hide-scrollbars --disable-lcd-text --font-render-hinting=none --force-color-profile=srgb --lang=en-US";
/// Debian's package `fonts-dejavu-core`, on which fontconfig depends.
const FONTS: &str = "/usr/share/fonts/truetype/dejavu";
/// Limits the browser to those fonts.
const FONT_CONFIGURATION: &str = r#"<?xml version="1.0"?>
<fontconfig>
<dir>FONTS</dir>
<cachedir>CACHE</cachedir>
<alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
<match target="pattern"><edit name="family" mode="append_last"><string>DejaVu Sans</string></edit></match>
<match target="font"><edit name="antialias"><bool>true</bool></edit><edit name="hinting"><bool>false</bool></edit>
<edit name="autohint"><bool>false</bool></edit><edit name="rgba"><const>none</const></edit></match>
</fontconfig>
"#;

/// How often to start chromedriver. It ends at once where its free IPv4 port is taken for IPv6.
const STARTS: usize = 5;

/// Starts chromedriver, and returns it with the port, or nothing if it ended before it had a port.
async fn start_driver(fonts: &Path) -> Option<(Child, String)> {
    let mut driver = Command::new("chromedriver")
        .arg("--port=0")
        .env("FONTCONFIG_FILE", fonts)
        .env("TZ", "UTC")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("chromedriver is installed (apt package chromium-driver)");
    let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    let port = loop {
        let line = lines.next_line().await.unwrap()?;
        if let Some((_, port)) = line.split_once("started successfully on port ") {
            break port.trim_end_matches('.').to_owned();
        }
    };
    // The output must not fill the pipe.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    Some((driver, port))
}

/// A browser with a single page.
pub struct Browser {
    client: Client,
    session: String,
    /// The browser's version, major number first.
    pub version: String,
    // Dropping it kills the driver and deletes the driver's files.
    _driver: Child,
    _profile: TempDir,
}

impl Browser {
    /// Starts chromedriver on a free port, and a browser with an empty profile.
    pub async fn start() -> Self {
        let profile = tempfile::tempdir().unwrap();
        let fonts = profile.path().join("fonts.conf");
        let cache = profile.path().join("fonts").display().to_string();
        assert!(
            Path::new(FONTS).is_dir(),
            "{FONTS} is missing (apt package fonts-dejavu-core)"
        );
        std::fs::write(
            &fonts,
            FONT_CONFIGURATION
                .replace("FONTS", FONTS)
                .replace("CACHE", &cache),
        )
        .unwrap();
        let mut started = None;
        for _ in 0..STARTS {
            started = start_driver(&fonts).await;
            if started.is_some() {
                break;
            }
        }
        let (driver, port) = started.expect("chromedriver tells its port");
        let client = Client::builder().no_proxy().build().unwrap();
        let mut flags = FLAGS.split(' ').map(str::to_owned).collect::<Vec<_>>();
        flags.push(format!("--user-data-dir={}", profile.path().display()));
        let capabilities = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": {"binary": CHROMIUM, "args": flags},
            "goog:loggingPrefs": {"browser": "ALL"},
        }}});
        let base = format!("http://127.0.0.1:{port}/session");
        let made: Value = client
            .post(&base)
            .json(&capabilities)
            .send()
            .await
            .unwrap()
            .json()
            .await
            .unwrap();
        let id = made["value"]["sessionId"]
            .as_str()
            .unwrap_or_else(|| panic!("no session: {made}"));
        let session = format!("{base}/{id}");
        let version = made["value"]["capabilities"]["browserVersion"]
            .as_str()
            .unwrap()
            .to_owned();
        Self {
            client,
            session,
            version,
            _driver: driver,
            _profile: profile,
        }
    }

    async fn call(&self, method: Method, path: &str, body: Value) -> Value {
        let request = self
            .client
            .request(method.clone(), format!("{}{path}", self.session));
        let request = if method == Method::POST {
            request.json(&body)
        } else {
            request
        };
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        assert!(answer["value"]["error"].is_null(), "{path}: {answer}");
        answer["value"].clone()
    }

    /// Opens an address in the page.
    pub async fn open(&self, url: &str) {
        self.call(Method::POST, "/url", json!({"url": url})).await;
    }

    /// Returns a JavaScript expression's value in the page.
    pub async fn eval(&self, expression: &str) -> Value {
        let script = format!("return ({expression});");
        self.call(
            Method::POST,
            "/execute/sync",
            json!({"script": script, "args": []}),
        )
        .await
    }

    /// Waits until an expression is true.
    pub async fn wait(&self, expression: &str) {
        let until = Instant::now() + TIMEOUT;
        while self.eval(&format!("Boolean({expression})")).await != json!(true) {
            if Instant::now() > until {
                let page = self.eval("document.body?.innerText").await;
                let console = self.console().await;
                panic!(
                    "never true: {expression}; the page says: {page}; the console says: {console:?}"
                );
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Returns the visible text in the first element that matches a selector.
    pub async fn text(&self, selector: &str) -> String {
        let text = self
            .eval(&format!(
                "document.querySelector({}).innerText",
                json!(selector)
            ))
            .await;
        text.as_str().unwrap().to_owned()
    }

    /// Clicks the first element that matches a selector.
    pub async fn click(&self, selector: &str) {
        self.eval(&format!(
            "document.querySelector({}).click()",
            json!(selector)
        ))
        .await;
    }

    /// Returns the console output since the last call: errors, warnings, content-security violations.
    pub async fn console(&self) -> Vec<String> {
        let entries = self
            .call(Method::POST, "/se/log", json!({"type": "browser"}))
            .await;
        let lines = entries
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| format!("{}: {}", entry["level"], entry["message"]));
        lines.collect()
    }

    /// Sends a `DevTools` protocol command.
    pub async fn command(&self, name: &str, params: Value) -> Value {
        self.call(
            Method::POST,
            "/goog/cdp/execute",
            json!({"cmd": name, "params": params}),
        )
        .await
    }

    /// Returns a promise's value in the page, to which its policies and trusted types do not apply.
    pub async fn eval_promise(&self, expression: &str) -> Value {
        let params = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let answer = self.command("Runtime.evaluate", params).await;
        assert!(
            answer["exceptionDetails"].is_null(),
            "{expression:.80}: {answer}"
        );
        answer["result"]["value"].clone()
    }

    /// Runs a script before those on each page that is opened from now on.
    pub async fn at_start(&self, script: &str) {
        self.command(
            "Page.addScriptToEvaluateOnNewDocument",
            json!({"source": script}),
        )
        .await;
    }

    /// Returns a picture of the page's visible part, as WebP.
    pub async fn picture(&self) -> Vec<u8> {
        let picture = self
            .command(
                "Page.captureScreenshot",
                json!({"format": "webp", "quality": 82}),
            )
            .await;
        BASE64.decode(picture["data"].as_str().unwrap()).unwrap()
    }

    /// Returns an exact picture of the page's visible part, as PNG in Base64.
    pub async fn exact_picture(&self) -> String {
        let picture = self
            .command("Page.captureScreenshot", json!({"format": "png"}))
            .await;
        picture["data"].as_str().unwrap().to_owned()
    }

    /// Sets the page's width and the preferred color scheme.
    pub async fn look(&self, width: u32, scheme: &str) {
        self.look_in(width, HEIGHT, scheme).await;
    }

    /// Sets the page's size and the preferred color scheme.
    pub async fn look_in(&self, width: u32, height: u64, scheme: &str) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.command("Emulation.setDeviceMetricsOverride", size)
            .await;
        let features = json!({"features": [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]});
        self.command("Emulation.setEmulatedMedia", features).await;
    }

    /// Enables or disables scripts.
    pub async fn scripts(&self, enabled: bool) {
        self.command(
            "Emulation.setScriptExecutionDisabled",
            json!({"value": !enabled}),
        )
        .await;
    }

    /// Closes the browser and the driver.
    pub async fn close(self) {
        self.call(Method::DELETE, "", Value::Null).await;
    }
}
