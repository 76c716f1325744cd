//! Tests assembling messages, event by event.

use ars_bot_ports::ModelErrorKind;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn feed(events: Vec<Value>) -> Result<ModelTurn, ModelError> {
    let mut assembly = Assembly::default();
    for event in events {
        if let StreamStep::Done(turn) = assembly.take(event)? {
            return Ok(turn);
        }
    }
    Err(protocol("no end"))
}

/// Returns the part for a message with a single block that starts as `start` and grows by `deltas`.
fn one(start: &Value, deltas: Vec<Value>) -> Part {
    let mut events = vec![
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": start}),
    ];
    let deltas = deltas.into_iter();
    events.extend(
        deltas.map(|delta| json!({"type": "content_block_delta", "index": 0, "delta": delta})),
    );
    events
        .push(json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}}));
    events.push(json!({"type": "message_stop"}));
    feed(events).unwrap().parts.remove(0)
}

fn tool(pieces: &[&str]) -> Value {
    let start = json!({"type": "tool_use", "id": "t", "name": "bash", "input": {}});
    let deltas = pieces
        .iter()
        .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}));
    match one(&start, deltas.collect()) {
        Part::ToolCall { input, .. } => input,
        other => panic!("{other:?}"),
    }
}

#[test]
fn broken_arguments_stay_text() {
    assert_eq!(tool(&["", "{\"a\"", ": 1}"]), json!({"a": 1}));
    assert_eq!(tool(&[]), json!({}));
    assert_eq!(tool(&["", ""]), json!({}));
    assert_eq!(tool(&["{\"comm"]), json!("{\"comm"));
}

#[test]
fn thinking_keeps_its_signature_and_its_field_order() {
    let start = json!({"type": "thinking", "thinking": "", "signature": ""});
    let deltas = vec![
        json!({"type": "thinking_delta", "thinking": "so "}),
        json!({"type": "thinking_delta", "thinking": "be it"}),
        json!({"type": "signature_delta", "signature": "c2ln"}),
    ];
    let Part::Opaque { api, block } = one(&start, deltas) else {
        panic!("not opaque")
    };
    assert_eq!(api, "anthropic");
    assert_eq!(
        block.to_string(),
        r#"{"type":"thinking","thinking":"so be it","signature":"c2ln"}"#
    );
}

#[test]
fn citations_and_other_fields_of_prose_are_kept() {
    let start = json!({"type": "text", "text": "", "citations": []});
    let deltas = vec![
        json!({"type": "text_delta", "text": "b"}),
        json!({"type": "citations_delta", "citation": {"cited_text": "x"}}),
        json!({"type": "citations_delta", "citation": {"cited_text": "y"}}),
    ];
    let Part::Text { text, extra } = one(&start, deltas) else {
        panic!("not prose")
    };
    assert_eq!(text, "b");
    assert_eq!(
        Value::Object(extra),
        json!({"citations": [{"cited_text": "x"}, {"cited_text": "y"}]})
    );
}

#[test]
fn kinds_of_a_later_api_are_kept_whole() {
    let block = json!({"type": "redacted_thinking", "data": "b3BhcXVl"});
    assert_eq!(
        one(&block, vec![]),
        Part::Opaque {
            api: "anthropic".into(),
            block
        }
    );
    let start = json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}});
    let grown = one(
        &start,
        vec![json!({"type": "input_json_delta", "partial_json": "{\"q\":1}"})],
    );
    let Part::Opaque { block, .. } = grown else {
        panic!("not opaque")
    };
    assert_eq!(
        block.to_string(),
        r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{"q":1}}"#
    );
    let deltas = vec![
        json!({"type": "dream_delta", "dream": "sh", "depth": 1}),
        json!({"type": "dream_delta", "dream": "eep", "depth": 2}),
    ];
    let Part::Opaque { block, .. } = one(&json!({"type": "dream", "dream": null}), deltas) else {
        panic!("not opaque")
    };
    assert_eq!(
        block,
        json!({"type": "dream", "dream": "sheep", "depth": 2})
    );
}

#[test]
fn usage_counts_are_running_totals() {
    let turn = feed(vec![
        json!({"type": "message_start", "message": {"usage": {
            "input_tokens": 4, "output_tokens": 1, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 3,
        }}}),
        json!({"type": "ping"}),
        json!({"type": "weather", "sun": true}),
        json!({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ]);
    let usage = Usage {
        input_tokens: 4,
        output_tokens: 9,
        cache_read_tokens: 2,
        cache_write_tokens: 3,
    };
    assert_eq!(
        turn.unwrap(),
        ModelTurn {
            parts: vec![],
            stop: StopReason::MaxTokens,
            usage
        }
    );
}

#[test]
fn usage_precedes_the_complete_message() {
    let mut assembly = Assembly::default();
    let counts = json!({"input_tokens": 700, "output_tokens": 1, "cache_read_input_tokens": 9});
    let step = assembly
        .take(json!({"type": "message_start", "message": {"usage": counts}}))
        .unwrap();
    let expected = Usage {
        input_tokens: 700,
        output_tokens: 1,
        cache_read_tokens: 9,
        cache_write_tokens: 0,
    };
    assert_eq!(step, StreamStep::Usage(expected));
    let step = assembly
        .take(json!({"type": "message_delta", "delta": {}, "usage": {"output_tokens": 40}}));
    assert_eq!(
        step.unwrap(),
        StreamStep::Usage(Usage {
            output_tokens: 40,
            ..expected
        })
    );
}

#[test]
fn every_stop_reason_has_its_meaning() {
    for (word, reason) in [
        ("end_turn", StopReason::EndTurn),
        ("stop_sequence", StopReason::EndTurn),
        ("tool_use", StopReason::ToolUse),
        ("max_tokens", StopReason::MaxTokens),
        ("model_context_window_exceeded", StopReason::MaxTokens),
        ("refusal", StopReason::Refusal(None)),
        ("pause_turn", StopReason::PauseTurn),
        ("bored", StopReason::Other("bored".into())),
    ] {
        assert_eq!(stop_reason(word, None), reason);
    }
    let explained = stop_reason("refusal", Some("policy seven"));
    assert_eq!(explained, StopReason::Refusal(Some("policy seven".into())));
}

#[test]
fn malformed_stream_is_an_error() {
    let start = json!({"type": "message_start", "message": {}});
    let block =
        |block: Value| json!({"type": "content_block_start", "index": 0, "content_block": block});
    let stop = json!({"type": "message_stop"});
    let reason = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}});
    for events in [
        vec![start.clone(), stop.clone()],
        vec![reason.clone(), stop.clone()],
        vec![
            start.clone(),
            json!({"type": "content_block_delta", "index": 0, "delta": {}}),
        ],
        vec![
            start.clone(),
            json!({"type": "content_block_start", "content_block": {}}),
        ],
        vec![start.clone(), block(json!("x"))],
        vec![
            start,
            block(json!({"type": "tool_use", "name": "bash"})),
            reason,
            stop,
        ],
    ] {
        assert_eq!(feed(events).unwrap_err().kind, ModelErrorKind::Protocol);
    }
}

proptest! {
    /// However a text is divided into deltas, the result is the same text.
    #[test]
    fn any_cut_of_arguments_gives_the_same_call(command in "\\PC{0,40}", cuts in proptest::collection::vec(0usize..80, 0..6)) {
        let input = json!({"command": command});
        let chars: Vec<char> = input.to_string().chars().collect();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(chars.len())).collect();
        cuts.extend([0, chars.len()]);
        cuts.sort_unstable();
        let pieces: Vec<String> = cuts.windows(2).map(|pair| chars[pair[0]..pair[1]].iter().collect()).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        prop_assert_eq!(tool(&pieces), input);
    }
}
