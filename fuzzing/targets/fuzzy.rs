//! Fuzz target: datagrams of rspamd's fuzzy module.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seenit_fuzzing::{cpu, fuzzy};

fuzz_target!(|datagram: &[u8]| cpu::bounded(datagram, fuzzy::check));
