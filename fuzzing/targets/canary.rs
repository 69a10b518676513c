//! Fuzz target with a planted bug. `./fuzz` fails when the fuzzer does not find it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seenit_fuzzing::canary;

fuzz_target!(|input: &[u8]| canary::check(input));
