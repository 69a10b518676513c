//! Fuzz target: payloads of deltas.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seenit_fuzzing::delta;

fuzz_target!(|input: &[u8]| delta::check(input));
