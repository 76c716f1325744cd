//! Page pictures, compared with the committed pictures in `tests/browser/pictures`.
//!
//! `ARS_PICTURES=1` replaces the committed pictures. docs/testing.md explains the tolerances.

use std::{fs, path::PathBuf};

use base64::{Engine as _, prelude::BASE64_STANDARD as BASE64};
use serde_json::{Value, json};

use super::driver::Browser;

/// Largest share of differing pixels in the browser version that made the committed pictures.
const MAX_SHARE: f64 = 0.000_1;
/// Largest share of differing pixels in scaled pictures with another version. With other hinting
/// and coloured letter smoothing it is 0.017, because a line on the narrow page breaks elsewhere.
const MAX_SHARE_SCALED: f64 = 0.03;
/// Picture scale for another version: letters become grey blocks, so their form does not matter.
const SCALE: f64 = 0.125;
/// The file with the browser version that made the committed pictures.
const VERSION: &str = "BROWSER";

/// Quality of the committed pictures. The other picture is encoded alike before it is compared.
const QUALITY: f64 = 0.5;

/// Compares two pictures in the browser.
/// Returns the differing and all pixels, and the pictures as WebP.
const COMPARE: &str = "(async ({expected, actual, scale, quality, library}) => {
    const {default: pixelmatch} = await import(`data:text/javascript;base64,${library}`);
    const decode = (data) => createImageBitmap(new Blob([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))]));
    const draw = (image, width, height, scale) => {
        const canvas = new OffscreenCanvas(width, height);
        const context = canvas.getContext('2d');
        context.imageSmoothingQuality = 'high';
        context.drawImage(image, 0, 0, image.width * scale, image.height * scale);
        return context;
    };
    const encode = async (context) => {
        const bytes = new Uint8Array(await (await context.canvas.convertToBlob({type: 'image/webp', quality})).arrayBuffer());
        return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
    };
    const exact = await decode(actual);
    const encoded = await encode(draw(exact, exact.width, exact.height, 1));
    if (!expected) return {actual: encoded};
    const [known, taken] = [await decode(expected), await decode(encoded)];
    const width = Math.ceil(Math.max(known.width, taken.width) * scale);
    const height = Math.ceil(Math.max(known.height, taken.height) * scale);
    const [before, after] = [known, taken].map((image) => draw(image, width, height, scale));
    const marks = new OffscreenCanvas(width, height).getContext('2d');
    const out = marks.createImageData(width, height);
    const pixels = (context) => context.getImageData(0, 0, width, height).data;
    const different = pixelmatch(pixels(before), pixels(after), out.data, width, height, {threshold: 0.1});
    marks.putImageData(out, 0, 0);
    return {actual: encoded, different, total: width * height, marks: await encode(marks)};
})";

/// Pictures that wait for their comparison, by name.
#[derive(Default)]
pub struct Pictures(Vec<(String, String)>);

impl Pictures {
    /// Takes a picture of a whole page at this width.
    pub async fn take(&mut self, browser: &Browser, name: &str, width: u32, scheme: &str) {
        let mut height = 0;
        // The page may grow once all rows are in view.
        loop {
            let found = browser
                .eval("document.documentElement.scrollHeight")
                .await
                .as_u64()
                .unwrap();
            if found == height {
                break;
            }
            height = found;
            browser.look_in(width, height, scheme).await;
            browser
                .eval_promise(
                    "new Promise(requestAnimationFrame).then(() => new Promise(requestAnimationFrame))",
                )
                .await;
        }
        self.0
            .push((name.to_owned(), browser.exact_picture().await));
    }

    /// Compares the pictures, or replaces the committed pictures.
    pub async fn compare(self, browser: &Browser) {
        browser.open("about:blank").await;
        let folder = folder();
        let renews = std::env::var_os("ARS_PICTURES").is_some();
        let known = fs::read_to_string(folder.join(VERSION)).unwrap_or_default();
        let is_same_browser = known.trim() == browser.version;
        let (scale, max_share) = if is_same_browser {
            (1.0, MAX_SHARE)
        } else {
            (SCALE, MAX_SHARE_SCALED)
        };
        let mut problems = Vec::new();
        for (name, actual) in self.0 {
            let path = folder.join(format!("{name}.webp"));
            let expected = fs::read(&path)
                .ok()
                .filter(|_| !renews)
                .map(|bytes| BASE64.encode(bytes));
            let compared = compared(browser, expected.as_deref(), &actual, scale).await;
            if renews {
                fs::create_dir_all(&folder).unwrap();
                fs::write(&path, bytes(&compared["actual"])).unwrap();
                fs::write(folder.join(VERSION), format!("{}\n", browser.version)).unwrap();
                continue;
            }
            // A missing picture differs everywhere.
            let count = |name: &str| compared[name].as_f64().unwrap_or(1.0);
            let share = count("different") / count("total");
            println!("{name}: {share:.6} of the pixels differ");
            if share > max_share {
                let kept = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
                fs::write(
                    kept.join(format!("{name}.webp")),
                    bytes(&compared["actual"]),
                )
                .unwrap();
                fs::write(
                    kept.join(format!("{name}-marks.webp")),
                    bytes(&compared["marks"]),
                )
                .unwrap();
                problems.push(format!(
                    "{name}: {share:.6} of the pixels differ, see {}",
                    kept.display()
                ));
            }
        }
        assert!(
            problems.is_empty(),
            "{}\nif the change is intended: ARS_PICTURES=1 cargo nextest run -p ars-tests-browser lab",
            problems.join("\n")
        );
    }
}

async fn compared(browser: &Browser, expected: Option<&str>, actual: &str, scale: f64) -> Value {
    let npm = ars_workerd::ensure_npm(&|_| {}).expect("npm packages");
    let library = fs::read(npm.node_modules.join("pixelmatch/index.js")).unwrap();
    let input = json!({
        "expected": expected, "actual": actual, "scale": scale, "quality": QUALITY,
        "library": BASE64.encode(library),
    });
    browser.eval_promise(&format!("({COMPARE})({input})")).await
}

fn bytes(data: &Value) -> Vec<u8> {
    data.as_str()
        .map(|text| BASE64.decode(text).unwrap())
        .unwrap_or_default()
}

fn folder() -> PathBuf {
    ars_workerd::repo_root().join("tests/browser/pictures")
}
