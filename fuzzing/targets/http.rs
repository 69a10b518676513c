//! Fuzz target: bodies and query strings of HTTP requests.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seenit_fuzzing::{cpu, http};

fuzz_target!(|input: &[u8]| cpu::bounded(input, http::check));
