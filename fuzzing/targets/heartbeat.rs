//! Fuzz target: heartbeats of sites.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seenit_fuzzing::{cpu, sites};

fuzz_target!(|input: &[u8]| cpu::bounded(input, sites::check_heartbeat));
