//! Fuzz target: filters of every kind against a naive model.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seenit_fuzzing::{Case, cpu, operations};

// However long it is: a case is not its bytes.
fuzz_target!(|case: Case| {
    cpu::bounded_by_work(|| {
        operations::check(&case);
        0
    })
});
