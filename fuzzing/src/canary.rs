//! A bug planted on purpose: a fuzzer that cannot find it would not find others either.

use std::hint::black_box;

/// What the planted bug says. `./fuzz` looks for it, so that another crash is not taken for this one.
pub const PLANTED: &str = "the canary was found";

/// The input that sets the bug off begins with these bytes.
const TRIGGER: [u8; 6] = *b"seen\x07!";

/// Panics on an input that begins with the trigger.
///
/// Blind guessing would need 2^48 tries. With coverage each byte that fits is a step of its own: the fuzzer
/// sees the progress and keeps the input.
///
/// # Panics
/// That is its purpose.
pub fn check(input: &[u8]) {
    let [first, second, third, fourth, fifth, sixth, ..] = *input else {
        return;
    };
    if is(first, 0) && is(second, 1) && is(third, 2) && is(fourth, 3) && is(fifth, 4) && is(sixth, 5) {
        panic!("{PLANTED}");
    }
}

/// Whether `byte` is the one at `at` in the trigger. The box keeps the compiler from making one wide
/// comparison of six narrow ones.
#[inline(always)]
fn is(byte: u8, at: usize) -> bool {
    black_box(byte) == TRIGGER[at]
}
