//! Fuzz target: datagrams and whitelists of DCC.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seenit_fuzzing::dcc;

fuzz_target!(|input: &[u8]| dcc::check(input));
