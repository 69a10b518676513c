//! Fuzz target: beats of sites.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seenit_fuzzing::sites;

fuzz_target!(|input: &[u8]| sites::check_beat(input));
