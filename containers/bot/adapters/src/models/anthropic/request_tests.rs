//! Tests the request body: every part kind, the cache marks, and forms that the API rejects.

use ars_agent::Turn;
use ars_types::Effort;

use super::*;

fn request<'a>(turns: &'a [Turn], tools: &'a [ToolSpec]) -> ModelRequest<'a> {
    ModelRequest {
        model: "claude-sonnet-5-5",
        system: "Be brief.",
        tools,
        may_call_tools: true,
        turns,
        max_tokens: 100,
        effort: None,
    }
}

fn spec(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: "d".into(),
        input_schema: json!({"type": "object"}),
    }
}

fn call(id: &str, input: Value) -> Part {
    Part::ToolCall {
        call_id: id.into(),
        name: "bash".into(),
        input,
        extra: Map::default(),
    }
}

fn result(id: &str, ok: bool, content: Vec<ToolContent>) -> Part {
    Part::ToolResult {
        call_id: id.into(),
        ok,
        content,
    }
}

fn user(parts: Vec<Part>) -> Turn {
    Turn {
        role: Role::User,
        parts,
    }
}

fn assistant(parts: Vec<Part>) -> Turn {
    Turn {
        role: Role::Assistant,
        parts,
    }
}

/// Returns where the marks are, as JSON pointers.
fn marks(body: &Value) -> Vec<String> {
    fn walk(value: &Value, path: &str, found: &mut Vec<String>) {
        match value {
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    walk(item, &format!("{path}/{index}"), found);
                }
            }
            Value::Object(fields) => {
                if fields.contains_key("cache_control") {
                    found.push(path.to_owned());
                }
                fields
                    .iter()
                    .for_each(|(name, value)| walk(value, &format!("{path}/{name}"), found));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(body, "", &mut found);
    found.sort();
    found
}

#[test]
fn cache_marks_cover_the_next_prefix() {
    let turns = [
        Turn::text(Role::User, "a"),
        assistant(vec![Part::text("b"), call("c1", json!({}))]),
        user(vec![result("c1", true, vec![]), Part::text("hint")]),
    ];
    let tools = [spec("bash"), spec("read_file")];
    let body = encode(&request(&turns, &tools));
    assert_eq!(
        marks(&body),
        [
            "/messages/1/content/1",
            "/messages/2/content/1",
            "/system/0",
            "/tools/1"
        ]
        .map(String::from)
    );
    assert_eq!(
        body["tools"][1]["cache_control"],
        json!({"type": "ephemeral"})
    );
}

#[test]
fn thinking_is_never_marked() {
    let thinking = json!({"type": "thinking", "thinking": "", "signature": "s"});
    let opaque = Part::Opaque {
        api: "anthropic".into(),
        block: thinking.clone(),
    };
    let turns = [
        Turn::text(Role::User, "a"),
        assistant(vec![Part::text("b"), opaque.clone()]),
    ];
    let body = encode(&request(&turns, &[]));
    assert_eq!(
        marks(&body),
        [
            "/messages/0/content/0",
            "/messages/1/content/0",
            "/system/0"
        ]
        .map(String::from)
    );
    assert_eq!(body["messages"][1]["content"][1], thinking);
    let only = [Turn::text(Role::User, "a"), assistant(vec![opaque])];
    assert_eq!(marks(&encode(&request(&only, &[]))).len(), 2);
}

#[test]
fn opaque_blocks_return_to_their_api_only() {
    let block = json!({"type": "server_tool_use", "z": 1, "a": {"y": 2, "b": 3}});
    let parts = ["anthropic", "other"].map(|api| Part::Opaque {
        api: api.into(),
        block: block.clone(),
    });
    let turns = [Turn::text(Role::User, "a"), assistant(parts.to_vec())];
    let body = encode(&request(&turns, &[]));
    let content = body["messages"][1]["content"].as_array().unwrap();
    assert_eq!(content.len(), 1);
    assert_eq!(content[0].to_string(), block.to_string());
}

#[test]
fn forms_that_the_api_rejects_are_not_sent() {
    let turns = [
        user(vec![Part::text(" "), Part::text("a")]),
        assistant(vec![Part::text("")]),
        user(vec![Part::text("b")]),
        assistant(vec![call("c1", json!("{broken")), call("c2", json!([1]))]),
        user(vec![
            Part::text("hint"),
            result(
                "c1",
                false,
                vec![ToolContent::Text {
                    text: String::new(),
                }],
            ),
            result("c2", true, vec![]),
        ]),
    ];
    let body = encode(&request(&turns, &[spec("bash")]));
    let messages = body["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 4);
    assert_eq!(
        messages[2]["content"][0]["input"],
        json!({"invalid_arguments": "{broken"})
    );
    assert_eq!(
        messages[2]["content"][1]["input"],
        json!({"invalid_arguments": [1]})
    );
    let answers = messages[3]["content"].as_array().unwrap();
    assert_eq!(answers[0]["is_error"], json!(true));
    assert_eq!(answers[0]["content"][0]["text"], json!("(no output)"));
    assert_eq!(answers[1].get("is_error"), None);
    assert_eq!(answers[2]["text"], json!("hint"));
}

#[test]
fn files_are_encoded_inside_results_too() {
    let png = |data: &str| ToolContent::Image {
        media_type: "image/png".into(),
        data: data.into(),
    };
    let pdf = ToolContent::Document {
        media_type: "application/pdf".into(),
        data: "JVBE".into(),
    };
    let turns = [
        user(vec![
            Part::Image {
                media_type: "image/webp".into(),
                data: "AAAA".into(),
            },
            Part::Image {
                media_type: "image/tiff".into(),
                data: "AAAA".into(),
            },
            Part::Document {
                media_type: "application/pdf".into(),
                data: "JVBE".into(),
                name: Some("a.pdf".into()),
            },
            Part::Document {
                media_type: "text/csv".into(),
                data: "YSxi".into(),
                name: None,
            },
            Part::Document {
                media_type: "application/zip".into(),
                data: "UEs".into(),
                name: Some("z".into()),
            },
        ]),
        assistant(vec![call("c1", json!({}))]),
        user(vec![result("c1", true, vec![png("BBBB"), pdf])]),
    ];
    let body = encode(&request(&turns, &[spec("bash")]));
    let files = &body["messages"][0]["content"];
    assert_eq!(
        files[0],
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/webp", "data": "AAAA"}})
    );
    assert!(files[1]["text"].as_str().unwrap().contains("image/tiff"));
    assert_eq!(files[2]["title"], json!("a.pdf"));
    assert_eq!(files[2]["source"]["media_type"], json!("application/pdf"));
    assert_eq!(
        files[3]["source"],
        json!({"type": "text", "media_type": "text/plain", "data": "a,b"})
    );
    assert!(
        files[4]["text"]
            .as_str()
            .unwrap()
            .contains("file z (application/zip)")
    );
    let pieces = &body["messages"][2]["content"][0]["content"];
    assert_eq!(pieces[0]["source"]["data"], json!("BBBB"));
    assert_eq!(pieces[1]["type"], json!("document"));
}

#[test]
fn extra_fields_are_returned() {
    let citations = json!([{"type": "page_location", "cited_text": "x"}]);
    let extra = Map::from_iter([("citations".to_owned(), citations.clone())]);
    let caller = Map::from_iter([("caller".to_owned(), json!({"type": "direct"}))]);
    let turns = [
        Turn::text(Role::User, "a"),
        assistant(vec![
            Part::Text {
                text: "b".into(),
                extra,
            },
            Part::ToolCall {
                call_id: "c".into(),
                name: "bash".into(),
                input: json!({}),
                extra: caller,
            },
        ]),
        user(vec![result("c", true, vec![])]),
    ];
    let body = encode(&request(&turns, &[spec("bash")]));
    assert_eq!(body["messages"][1]["content"][0]["citations"], citations);
    assert_eq!(
        body["messages"][1]["content"][1]["caller"],
        json!({"type": "direct"})
    );
}

#[test]
fn effort_and_closing_call_set_their_fields() {
    let (turns, tools) = ([Turn::text(Role::User, "a")], [spec("bash")]);
    let plain = encode(&request(&turns, &tools));
    assert_eq!(
        (plain.get("output_config"), plain.get("tool_choice")),
        (None, None)
    );
    let closing = ModelRequest {
        may_call_tools: false,
        effort: Some(Effort::Max),
        ..request(&turns, &tools)
    };
    let body = encode(&closing);
    assert_eq!(body["output_config"], json!({"effort": "max"}));
    assert_eq!(body["tool_choice"], json!({"type": "none"}));
    let toolless = encode(&ModelRequest {
        tools: &[],
        system: "",
        ..closing
    });
    assert_eq!(
        (
            toolless.get("tools"),
            toolless.get("tool_choice"),
            toolless.get("system")
        ),
        (None, None, None)
    );
}
