//! A frame of Slack's socket has a decision, and an envelope with an id can be acknowledged.
#![no_main]

use ars_slack::{
    card,
    event::{Bot, Envelope, Event, Press, trigger},
    files,
};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|text: &str| {
    let sent: Value = serde_json::from_str(text).unwrap_or_default();
    let bot = Bot {
        user_id: "UB".into(),
        bot_id: "BB".into(),
    };
    let envelope = Envelope::parse(text);
    if let (Some(id), Some(_)) = (sent["envelope_id"].as_str(), sent["payload"].as_object()) {
        let is_unnamed = matches!(envelope, Envelope::Hello | Envelope::Disconnect { .. });
        assert!(is_unnamed || envelope.id() == Some(id), "{sent}");
    }
    match envelope {
        Envelope::EventsApi { payload, .. } => {
            let event = Event::parse(&payload);
            trigger(&event, &bot);
            if let Event::Message { message, .. } = event {
                card::interrupt(&message.blocks);
                files::select(&[*message]);
            }
        }
        Envelope::Interactive { payload, .. } => {
            Press::parse(&payload);
        }
        Envelope::Hello | Envelope::Disconnect { .. } | Envelope::Unknown { .. } => {}
    }
});
