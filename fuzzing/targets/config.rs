//! Fuzz target: configurations of a site.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seenit_fuzzing::{config, cpu};

fuzz_target!(|input: &[u8]| cpu::bounded(input, config::check));
