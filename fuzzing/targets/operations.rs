//! Fuzz target: filters of every kind against a naive model.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seenit_fuzzing::Case;
use seenit_fuzzing::operations;

fuzz_target!(|case: Case| operations::check(&case));
