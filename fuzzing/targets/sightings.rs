//! Fuzz target: deltas of sightings.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seenit_fuzzing::{cpu, sightings};

fuzz_target!(|input: &[u8]| cpu::bounded(input, sightings::check));
