//! The laws of DCC's packets, checked on whatever the fuzzer sends.

use std::str;

use seenit_wire::dcc::whitelist::{self, Addresses, Subject};
use seenit_wire::dcc::{
    Ask, Body, Brand, Count, DccResponse, PACKET_BYTES_MIN, Password, REQUEST_BYTES_MAX, Reply, Request,
    SUMS_MAX, ServerId, TARGETS_MAX, Totals,
};

/// The longest OK: 68 bytes of body.
const OK_BYTES: usize = 108;
/// Where the number of the transmission is, which alone differs between retransmissions.
const TRANSMISSION: std::ops::Range<usize> = 20..24;

/// Reads bytes as a datagram, as one whose length is right, and as a whitelist, and holds them against every law.
///
/// # Panics
/// When a law is broken.
pub fn check(input: &[u8]) {
    check_datagram(input);
    // A length that does not fit would stop nearly every mutation at once.
    let mut fitting = input.to_vec();
    if let (Some(place), Ok(length)) = (fitting.get_mut(..2), u16::try_from(input.len())) {
        place.copy_from_slice(&length.to_be_bytes());
        check_datagram(&fitting);
    }
    if let Ok(text) = str::from_utf8(input) {
        check_whitelist(text);
    }
}

fn check_datagram(datagram: &[u8]) {
    // What a client of ours hears: any bytes are an answer or none, also where the numbers are the right ones.
    if let Some(numbers) = datagram.get(8..24).and_then(|numbers| numbers.try_into().ok()) {
        let _ = DccResponse::decode(datagram, &Ask { numbers, sums: &[] });
    }
    let Ok(request) = Request::decode(datagram) else { return };
    assert!((PACKET_BYTES_MIN..=REQUEST_BYTES_MAX).contains(&datagram.len()), "{} bytes", datagram.len());

    let mut again = datagram.to_vec();
    again[TRANSMISSION].fill(0xff);
    let again = Request::decode(&again).expect("a retransmission is a request");
    assert_eq!(again.retransmission(), request.retransmission());

    let password = Password::new("secret").expect("a password");
    let password = request.is_signed_by(&password).then_some(&password);
    let server = ServerId::new(1000).expect("a number of a server");
    let reply = Reply { server, to: &request.header, password };
    let mut out = Vec::new();
    match request.body {
        Body::Report(targets, sums) => {
            assert!(targets.recipients <= TARGETS_MAX, "{targets:?}");
            check_totals(&reply, sums.iter().map(|sum| sum.kind as u8).collect(), datagram.len());
        }
        Body::Query(sums) => {
            check_totals(&reply, sums.iter().map(|sum| sum.kind as u8).collect(), datagram.len())
        }
        Body::Nop => {
            reply.ok(&Brand::new("fuzz").expect("a brand"), 0, &mut out);
            assert_eq!(out.len(), OK_BYTES);
        }
        Body::Delete { sum, .. } => reply.error(&format!("{sum} not found to delete"), &mut out),
        Body::Admin(admin) => reply.text("nothing to say", admin.value, &mut out),
    }
}

fn check_totals(reply: &Reply<'_>, kinds: Vec<u8>, asked: usize) {
    assert!(kinds.len() <= SUMS_MAX && kinds.is_sorted_by(|one, next| one < next), "{kinds:?}");
    let mut out = Vec::new();
    reply.totals(&vec![Totals::unchanged(Count::Many); kinds.len()], &mut out);
    let total_bytes = if reply.to.version < 6 { 4 } else { 8 };
    assert_eq!(out.len(), PACKET_BYTES_MIN + total_bytes * kinds.len());
    assert!(out.len() < asked, "an answer of {} bytes to a question of {asked}", out.len());
    assert_eq!(usize::from(u16::from_be_bytes([out[0], out[1]])), out.len());
    assert_eq!(out[8..24], reply.to.numbers);
}

fn check_whitelist(text: &str) {
    let Ok(whitelist) = whitelist::parse(text) else { return };
    let lines = text.lines().count();
    assert!(whitelist.entries.len() + whitelist.includes.len() <= lines);
    for entry in &whitelist.entries {
        assert!((1..=lines).contains(&entry.line), "{entry:?}");
        if let Subject::Addresses(addresses) = entry.subject {
            let count = addresses.iter().take(Addresses::COUNT_MAX as usize + 1).count();
            assert!((1..=Addresses::COUNT_MAX as usize).contains(&count), "{entry:?}");
        }
    }
}
