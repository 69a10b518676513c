//! Fuzz target: connections of Razor.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seenit_fuzzing::razor;

fuzz_target!(|input: &[u8]| razor::check(input));
