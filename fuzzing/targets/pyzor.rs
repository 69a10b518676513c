//! Fuzz target: datagrams of Pyzor.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seenit_fuzzing::{cpu, pyzor};

fuzz_target!(|datagram: &[u8]| cpu::bounded(datagram, pyzor::check));
