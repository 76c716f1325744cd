//! A message is prose, or begins with a command's words and ends with the tail.
#![no_main]

use ars_commands::{RawInput, Recognized, Registry};
use ars_fuzz::{LIST, SET, check};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let registry = Registry::new(&[&LIST, &SET], &[]).expect("the definitions are valid");
    if let Some(Recognized::Command { definition, tail }) = registry.recognize(text) {
        let mut words = text.split_whitespace();
        assert_eq!(
            (words.next(), words.next()),
            (Some(definition.group()), Some(definition.verb()))
        );
        assert!(text.trim_end().ends_with(&tail), "{text:?} {tail:?}");
        check(definition, &RawInput::Text(tail));
    }
    check(&SET, &RawInput::Text(text.to_owned()));
});
