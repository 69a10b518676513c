//! Fuzz target: mboxes, archives and the messages in them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seenit_fuzzing::{cpu, mailbox};

fuzz_target!(|input: &[u8]| cpu::bounded_by_work(|| mailbox::check(input)));
