//! The sums of single headers and of the envelope.

use std::net::IpAddr;

use md5::{Digest, Md5};

use super::Sum;
use crate::head;

/// The sum of the `From` header, or nothing if there is none.
pub fn from(mail: &[u8]) -> Option<Sum> {
    head::fields(head::split_head(mail).0).find(|field| field.is("from")).map(|field| sum(field.value))
}

/// The sum of the `Message-ID` header, or nothing if there is none.
pub fn message_id(mail: &[u8]) -> Option<Sum> {
    head::fields(head::split_head(mail).0).find(|field| field.is("message-id")).map(|field| sum(field.value))
}

/// The sum of the last `Received` header, or nothing if there is none.
pub fn received(mail: &[u8]) -> Option<Sum> {
    let fields = head::fields(head::split_head(mail).0);
    fields.filter(|field| field.is("received")).last().map(|field| sum(field.value))
}

/// The sum of the sender that the envelope names.
pub fn env_from(sender: &[u8]) -> Sum {
    sum(sender)
}

/// The sum of the address of the client that delivered the message.
pub fn ip(address: IpAddr) -> Sum {
    let octets = match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    };
    Md5::digest(octets).into()
}

/// The sum of a header's text: what mail programs add and change, such as quotes and folding, does not count.
fn sum(value: &[u8]) -> Sum {
    let is_noise =
        |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'<' | b'>' | b'\'' | b'"' | b',');
    let mut text: Vec<u8> = value.iter().filter(|byte| !is_noise(byte)).map(u8::to_ascii_lowercase).collect();
    let end = text.iter().rposition(|byte| *byte != b'.').map_or(0, |last| last + 1);
    text.truncate(end);
    Md5::digest(text).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_case_and_folding_do_not_count() {
        let plain = from(b"From: salesdeptsales@example.com\n");
        assert!(plain.is_some());
        assert_eq!(from(b"FROM : \"Sales Dept\"\r\n <Sales@Example.com.>\r\nTo: you\r\n"), plain);
        assert_eq!(env_from(b"<...>"), env_from(b""));
    }

    #[test]
    fn a_missing_header_has_no_sum() {
        let mail = b"From a@example.com Sat Jan  1 00:00:00 2022\nTo: you\n\nFrom: me\nMessage-ID: <1>\n";
        assert_eq!((from(mail), message_id(mail), received(mail)), (None, None, None));
    }

    #[test]
    fn the_last_received_counts() {
        assert_eq!(received(b"Received: a\nReceived: b\n\nReceived: c\n"), received(b"Received: b\n"));
    }
}
