//! The laws of Pyzor's requests, checked on whatever datagram the fuzzer comes up with.
//!
//! No datagram may cause a panic. A request has no more digests than there are bytes for, only a named user has a
//! signature to check, and nobody guesses one.

use seenit_wire::pyzor::{DecodeError, HashedKey, PyzorAnswer, PyzorResponse, Request, Signature};

/// Reads a datagram, and holds the request against every law.
///
/// # Panics
/// When a law is broken.
pub fn check(datagram: &[u8]) {
    // What a client of ours hears: any bytes are an answer or none.
    let _ = PyzorResponse::decode(datagram);
    let (thread, answer) = match Request::decode(datagram) {
        Ok(request) => {
            check_request(&request, datagram);
            (request.thread, PyzorAnswer::Done)
        }
        Err(DecodeError::Refused { thread, refusal }) => (thread, PyzorAnswer::Refused(refusal)),
        Err(DecodeError::NotARequest) => return,
    };
    let mut out = Vec::new();
    answer.write(thread, &mut out);
    assert!(PyzorResponse::decode(&out).is_some(), "an answer of ours is one");
    let line = format!("\nThread: {thread}\n\n");
    assert!(out.ends_with(line.as_bytes()), "{}", String::from_utf8_lossy(&out));
}

fn check_request(request: &Request<'_>, datagram: &[u8]) {
    assert!(request.digests().count() * 40 <= datagram.len(), "{request:?}");
    // On time, whatever the time is, so that the signature itself is looked at.
    let now = request.time.unwrap_or_default();
    let signature = request.signature(&HashedKey::of("nobody", "a key that no seed was signed with"), now);
    let expected = if request.user.is_some() { Signature::Bad } else { Signature::Anonymous };
    assert_eq!(signature, expected, "{request:?}");
}
