//! Pairs of keys and values: `k1=v1&k2=v2`, with `%XX` for a byte that would be in the way.

use std::borrow::Cow;

/// The raw value of a key, as the client itself would read it: the last pair counts, and a value ends at a second `=`.
pub(super) fn value<'a>(line: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let pairs = line.rsplit(|&byte| byte == b'&');
    let mut values = pairs.filter_map(|pair| {
        let mut pieces = pair.split(|&byte| byte == b'=');
        (pieces.next() == Some(key)).then(|| pieces.next().unwrap_or_default())
    });
    values.next()
}

/// Whether some value is a lone `*`, which stands for a message that follows.
pub(super) fn announces_message(line: &[u8]) -> bool {
    line.split(|&byte| byte == b'&').any(|pair| pair.ends_with(b"=*"))
}

/// A value without its escapes. A `%` that is no escape stands for itself.
pub(super) fn unescaped(value: &[u8]) -> Cow<'_, [u8]> {
    if !value.contains(&b'%') {
        return Cow::Borrowed(value);
    }
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value;
    while let [first, behind @ ..] = rest {
        let escape = if *first == b'%' { escaped_byte(behind) } else { None };
        let (byte, next) = escape.unwrap_or((*first, behind));
        bytes.push(byte);
        rest = next;
    }
    Cow::Owned(bytes)
}

/// The byte that two hex digits say, and what follows them.
fn escaped_byte(text: &[u8]) -> Option<(u8, &[u8])> {
    let (digits, rest) = text.split_first_chunk::<2>()?;
    let mut byte = [0];
    hex::decode_to_slice(digits, &mut byte).ok()?;
    Some((byte[0], rest))
}

/// Appends a value, with escapes for all that could mean something else. A colon never does, and addresses have them.
pub(super) fn write_escaped(value: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in value {
        if byte.is_ascii_alphanumeric() || b"-_.~:".contains(&byte) {
            out.push(byte);
        } else {
            let digits = [byte >> 4, byte & 15].map(|digit| DIGITS.get(usize::from(digit)).copied());
            out.push(b'%');
            out.extend(digits.into_iter().flatten());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_are_read_as_the_client_reads_them() {
        let line = b"a=l&a=cg&x=1=2&y&z=";
        for (key, expected) in
            [("a", Some("cg")), ("x", Some("1")), ("y", Some("")), ("z", Some("")), ("w", None)]
        {
            assert_eq!(value(line, key.as_bytes()), expected.map(str::as_bytes), "{key}");
        }
    }

    #[test]
    fn only_whole_escapes_are_undone() {
        let cases: [(&[u8], &[u8]); 5] = [
            (b"s3cr%3Dt%20%26p", b"s3cr=t &p"),
            (b"%3d", b"="),
            (b"%", b"%"),
            (b"%3", b"%3"),
            (b"%%41+", b"%A+"),
        ];
        for (value, expected) in cases {
            assert_eq!(unescaped(value), expected);
        }
    }

    #[test]
    fn a_message_is_announced_by_a_star_alone() {
        assert!(announces_message(b"a=r&message=*"));
        assert!(announces_message(b"message=*&a=r"));
        assert!(!announces_message(b"a=r&message=**"));
        assert!(!announces_message(b"a=r&message=%2A"));
    }

    proptest! {
        #[test]
        fn what_is_escaped_comes_back_and_means_nothing_else(bytes: Vec<u8>) {
            let mut escaped = Vec::new();
            write_escaped(&bytes, &mut escaped);
            prop_assert!(!escaped.iter().any(|byte| b"&=?*\r\n ".contains(byte)));
            prop_assert_eq!(unescaped(&escaped), bytes);
        }
    }
}
