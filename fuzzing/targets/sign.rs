//! Fuzz target: messages to sign.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seenit_fuzzing::{cpu, sign};

fuzz_target!(|mail: &[u8]| cpu::bounded(mail, sign::check));
