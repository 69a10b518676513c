//! Fuzz target: bytes that claim to be a filter file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seenit_fuzzing::{cpu, format};

fuzz_target!(init: format::check_forge(), |input: &[u8]| cpu::bounded(input, format::check));
