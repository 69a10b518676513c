//! Fuzz target: datagrams of Pyzor.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seenit_fuzzing::pyzor;

fuzz_target!(|datagram: &[u8]| pyzor::check(datagram));
