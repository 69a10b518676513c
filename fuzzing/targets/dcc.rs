//! Fuzz target: datagrams and whitelists of DCC.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seenit_fuzzing::{cpu, dcc};

fuzz_target!(|input: &[u8]| cpu::bounded(input, dcc::check));
