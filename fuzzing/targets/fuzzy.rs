//! Fuzz target: datagrams of rspamd's fuzzy module.
#![no_main]

use libfuzzer_sys::fuzz_target;
use seenit_fuzzing::fuzzy;

fuzz_target!(|datagram: &[u8]| fuzzy::check(datagram));
