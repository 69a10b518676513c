//! Fuzz target: connections of Razor.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seenit_fuzzing::{cpu, razor};

fuzz_target!(|input: &[u8]| cpu::bounded(input, razor::check));
