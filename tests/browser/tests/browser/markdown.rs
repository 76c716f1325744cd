//! The Markdown renderer in the browser: output for sample texts, and worst-case speed.

use serde_json::json;

use super::{Bot, Browser, with_browser};

/// Text and the expected markup.
const CASES: [(&str, &str); 27] = [
    ("one\ntwo\n\nthree", "<p>one\ntwo</p><p>three</p>"),
    ("one  \ntwo", "<p>one  <br>two</p>"),
    ("# a #\n###### b", "<h3>a</h3><h4>b</h4>"),
    (
        "**a** *b* __c__ _d_",
        "<p><strong>a</strong> <em>b</em> <strong>c</strong> <em>d</em></p>",
    ),
    ("**a *b* c**", "<p><strong>a <em>b</em> c</strong></p>"),
    (
        "2 * 3 * 4, snake_case_name, **open",
        "<p>2 * 3 * 4, snake_case_name, **open</p>",
    ),
    (
        "`a*b*` ``x ` y``, `open",
        "<p><code>a*b*</code> <code>x ` y</code>, `open</p>",
    ),
    (r"\*a\* \`b\` \d", r"<p>*a* `b` \d</p>"),
    (
        "- a\n- b\n  - c\n\n1. d\n2. e",
        "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul><ol><li>d</li><li>e</li></ol>",
    ),
    (
        "3) a\n   more\n\n   para",
        "<ol start=\"3\"><li><p>a\nmore</p><p>para</p></li></ol>",
    ),
    ("- a\nlazy\n\nout", "<ul><li>a\nlazy</li></ul><p>out</p>"),
    (
        "> a\n> > b",
        "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote>",
    ),
    ("a\n---\nb", "<p>a</p><hr><p>b</p>"),
    (
        "```rust\n<b>&\n\n# no\n```\nend",
        "<pre data-language=\"rust\" tabindex=\"0\"><code>&lt;b&gt;&amp;\n\n# no</code></pre><p>end</p>",
    ),
    (
        "~~~\n```\n~~~~",
        "<pre tabindex=\"0\"><code>```</code></pre>",
    ),
    ("```x``` y", "<p><code>x</code> y</p>"),
    (
        "```\nnever closed",
        "<pre tabindex=\"0\"><code>never closed</code></pre>",
    ),
    (
        "|a|b|\n|-|:-:|\n|1|`2`|\n|3|",
        "<div class=\"table\" tabindex=\"0\"><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td><code>2</code></td></tr><tr><td>3</td><td></td></tr></tbody></table></div>",
    ),
    ("a | b", "<p>a | b</p>"),
    (
        "[x](https://e.org/a_b_c)",
        "<p>LINK https://e.org/a_b_c>x</a></p>",
    ),
    (
        "see https://e.org/?a=1&b=2.",
        "<p>see LINK https://e.org/?a=1&amp;b=2>https://e.org/?a=1&amp;b=2</a>.</p>",
    ),
    (
        "[**x** `y`](http://e.org/ \"title\")",
        "<p>LINK http://e.org/><strong>x</strong> <code>y</code></a></p>",
    ),
    (
        "[x](javascript:alert(1))",
        "<p>[x](javascript:alert(1))</p>",
    ),
    (
        "[x](//e.org) [y](/runs) [z]( )",
        "<p>[x](//e.org) [y](/runs) [z]( )</p>",
    ),
    (
        "[x](JAVASCRIPT&colon;1) http://",
        "<p>[x](JAVASCRIPT&amp;colon;1) http://</p>",
    ),
    (
        "<b onclick=x>hi</b> &lt;",
        "<p>&lt;b onclick=x&gt;hi&lt;/b&gt; &amp;lt;</p>",
    ),
    (
        "![alt](https://e.org/i.png)",
        "<p>!LINK https://e.org/i.png>alt</a></p>",
    ),
];

/// Texts that make naive renderers quadratic or deeply recursive, as JavaScript.
const HEAVY: [&str; 12] = [
    "'*a '.repeat(60000)",
    "'**'.repeat(90000)",
    "'_a'.repeat(90000)",
    "'`'.repeat(90000) + 'x`'",
    "Array.from({length: 600}, (_, n) => '`'.repeat(n + 1)).join(' ')",
    "'['.repeat(90000) + ']('",
    "'[a]('.repeat(40000)",
    "'> '.repeat(50000) + 'x'",
    "Array.from({length: 2000}, (_, n) => ' '.repeat(n % 60 * 2) + '- x').join('\\n')",
    "'|'.repeat(9000) + '\\n' + '|-'.repeat(9000) + '|\\n' + '|x'.repeat(9000)",
    "'- - '.repeat(40000)",
    "'# '.repeat(60000) + '\\n' + '#'.repeat(90000)",
];

/// Timeout per text, generous for a busy machine and far below a quadratic renderer's time.
const TIMEOUT_MS: u32 = 2000;

async fn on_a_page(test: impl AsyncFnOnce(&Browser)) {
    with_browser(async |browser| {
        let bot = Bot::start().await;
        browser.open(&bot.url("/runs")).await;
        test(browser).await;
        assert_eq!(browser.console().await, Vec::<String>::new());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn text_renders_as_expected() {
    on_a_page(async |browser| {
        for (text, expected) in CASES {
            let link = "LINK $1>";
            let script = format!(
                "import('/runs/assets/markdown.js').then(({{ markdown }}) => markdown({}).innerHTML.replaceAll(/<a href=\"([^\"]*)\" rel=\"noopener noreferrer nofollow\" target=\"_blank\">/g, {}))",
                json!(text),
                json!(link),
            );
            assert_eq!(browser.eval(&script).await, json!(expected), "{text}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rendering_is_fast() {
    on_a_page(async |browser| {
        for text in HEAVY {
            let script = format!(
                "import('/runs/assets/markdown.js').then(({{ markdown }}) => {{ const from = performance.now(); const node = markdown({text}); return [performance.now() - from, node.textContent.length > 0]; }})",
            );
            let took = browser.eval(&script).await;
            assert_eq!(took[1], json!(true), "{text}");
            assert!(took[0].as_f64().unwrap() < f64::from(TIMEOUT_MS), "{text} took {took} ms");
        }
    })
    .await;
}
