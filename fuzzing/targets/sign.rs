//! Fuzz target: messages to sign.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seenit_fuzzing::sign;

fuzz_target!(|mail: &[u8]| sign::check(mail));
