//! A command route's query string is rejected, or is in its normal form.
#![no_main]

use ars_commands::RawInput;
use ars_fuzz::{LIST, SET, check};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|query: &[u8]| {
    let pairs: Vec<_> = form_urlencoded::parse(query).into_owned().collect();
    check(&SET, &RawInput::Pairs(pairs.clone()));
    check(&LIST, &RawInput::Pairs(pairs));
});
