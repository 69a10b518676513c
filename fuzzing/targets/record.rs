//! Fuzz target: a record, as the journal and other sites have it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seenit_fuzzing::{cpu, record};

fuzz_target!(|input: &[u8]| cpu::bounded(input, record::check));
