//! Fuzz target: payloads of deltas.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seenit_fuzzing::{cpu, delta};

fuzz_target!(|input: &[u8]| cpu::bounded(input, delta::check));
