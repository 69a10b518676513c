//! What the DCC clients compute: the sums of the body, and those of a few headers.
//!
//! DCC counts how often a checksum was reported. A sum is an MD5, 16 bytes, and the kind of sum says over what:
//!
//! * `Body`: the whole body, transfer encodings undone, without white space and `=`.
//! * `Fuz1`: the letters of the text, without greetings and with only the end of host names in links.
//! * `From`, `Message-ID`, `Received`, the envelope's sender: the header's text, without quotes and brackets.
//! * `IP`: the address of the client that delivered the message.
//!
//! There is no `Fuz2`. It is taken over words of a dictionary that is not ours to copy.
//!
//! The vectors come from DCC 1.3.158. They prove all of this for plain text, for the headers and for a link, both
//! sums of the body and every header sum. For multiparts and transfer encodings we do what the client is described to
//! do, but no run of the client has confirmed it: a difference there costs a match and nothing else.
//! What is our reading of that description: boundaries, part headers and the text between parts belong to `Body` as
//! they stand and not to `Fuz1`; `Fuz1` takes the letters of every part, those of HTML tags and of decoded attachments
//! included; the *last* `Received` is the lowest one.

mod fuz1;
mod header;
mod mime;

use md5::{Digest, Md5};

pub use header::{env_from, from, ip, message_id, received};

/// A sum as it goes over the wire.
pub type Sum = [u8; 16];

/// The client sends no sum of a body with fewer bytes than this, white space not counted.
const BODY_BYTES_MIN: usize = 30;

/// The sums of a message's body. Each is missing if the client would find too little to take it of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sums {
    /// Of the whole body.
    pub body: Option<Sum>,
    /// The fuzzy sum of the text.
    pub fuz1: Option<Sum>,
}

/// The sums of the body, by one walk over it.
pub fn sums(mail: &[u8]) -> Sums {
    let mut all = Vec::with_capacity(mail.len());
    let mut text = Vec::new();
    mime::walk(mail, &mut |part, piece| {
        all.extend_from_slice(piece);
        if part == mime::Part::Text {
            text.extend_from_slice(piece);
        }
    });
    Sums { body: body_sum(&all), fuz1: fuz1::letters(&text).map(|letters| Md5::digest(letters).into()) }
}

/// The sum of the whole body, or nothing if the client would find the body too short.
pub fn body(mail: &[u8]) -> Option<Sum> {
    sums(mail).body
}

/// The fuzzy sum of the text, or nothing if the client would find too few letters.
pub fn fuz1(mail: &[u8]) -> Option<Sum> {
    sums(mail).fuz1
}

/// The sum of what the client counts of a body.
fn body_sum(bytes: &[u8]) -> Option<Sum> {
    let mut counted = Vec::with_capacity(bytes.len());
    let mut begins_line = true;
    for (at, &byte) in bytes.iter().enumerate() {
        let is_quote = begins_line && byte == b'>' && bytes[at..].starts_with(b">From");
        begins_line = byte == b'\n';
        if !is_quote && !matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b'=') {
            counted.push(byte);
        }
    }
    (counted.len() >= BODY_BYTES_MIN).then(|| Md5::digest(counted).into())
}

/// A sum as the client prints it and as its whitelists have it: four groups of eight hexadecimal digits.
pub fn text(sum: &Sum) -> String {
    let groups: Vec<String> = sum.chunks(4).map(hex::encode).collect();
    groups.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_four_groups() {
        let sum = body(b"\n0123456789 0123456789 0123456789").expect("thirty bytes are enough");
        assert_eq!(text(&sum), "4f7223eb adee9fb5 7b679657 0d60638f");
    }

    #[test]
    fn short_bodies_have_no_sum() {
        assert_eq!(body(b"\n0123456789 0123456789 012345678 = \r\n"), None);
        assert_eq!(body(b"Subject: a message with a header of more than thirty bytes\n"), None);
        assert_eq!(fuz1(b"\nabcdefghij abcdefghij 123 abcdefghi"), None);
        assert!(fuz1(b"\nabcdefghij abcdefghij 123 abcdefghij").is_some());
    }

    #[test]
    fn white_space_and_equal_signs_do_not_count() {
        let plain = body(b"\nA message of some words, more than thirty bytes of them.");
        assert_eq!(body(b"\r\nA message = of\tsome words,\r\nmore than thirty bytes of them.\r\n"), plain);
        assert!(plain.is_some());
    }

    #[test]
    fn a_quoted_from_at_the_start_of_a_line_loses_its_quote() {
        let rest = "the beginning of a line of more than thirty bytes";
        assert_eq!(body(format!("\n>From {rest}").as_bytes()), body(format!("\nFrom {rest}").as_bytes()));
        assert_ne!(body(format!("\n >From {rest}").as_bytes()), body(format!("\nFrom {rest}").as_bytes()));
    }

    #[test]
    fn an_encoding_does_not_change_the_sums() {
        let text = "A wonderful offer, at a price which nobody will believe: hurry!";
        let plain = format!("Subject: a\n\n{text}\n");
        let quoted =
            format!("content-transfer-encoding: Quoted-Printable\n\n{}\n", text.replace("ice", "=69=\nce"));
        let base64 = "Content-Transfer-Encoding: base64\n\n\
            QSB3b25kZXJmdWwgb2ZmZXIsIGF0IGEgcHJpY2Ugd2hpY2gg\nbm9ib2R5IHdpbGwgYmVsaWV2ZTogaHVycnkh\n";
        assert!(body(plain.as_bytes()).is_some() && fuz1(plain.as_bytes()).is_some());
        for other in [&quoted, base64] {
            assert_eq!(body(other.as_bytes()), body(plain.as_bytes()));
            assert_eq!(fuz1(other.as_bytes()), fuz1(plain.as_bytes()));
        }
    }

    #[test]
    fn only_the_body_sum_takes_in_boundaries_and_part_headers() {
        let text = "A wonderful offer, at a price which nobody will believe: hurry!\n";
        let part = format!("--b\nContent-Type: text/plain\n\n{text}--b--\n");
        let multi = format!("Content-Type: multipart/mixed; boundary=b\n\n{part}");
        assert_eq!(body(multi.as_bytes()), body(format!("\n{part}").as_bytes()));
        assert_eq!(fuz1(multi.as_bytes()), fuz1(format!("\n{text}").as_bytes()));
    }
}
