//! The checksums that clients make of what a whitelist names.

use md5::{Digest, Md5};

use super::{Subject, Sum, SumKind};

impl Subject {
    /// Calls `each` with the checksums: of addresses one each, else one.
    pub fn each_sum(&self, mut each: impl FnMut(Sum)) {
        match self {
            Self::Addresses(addresses) => addresses.numbers().for_each(|number| {
                each(Sum { kind: SumKind::Ip, digest: Md5::digest(number.to_be_bytes()).into() });
            }),
            Self::Text(kind, text) => each(Sum { kind: *kind, digest: of_text(text) }),
            Self::Sum(sum) => each(*sum),
        }
    }
}

/// Of a header's text blanks, quotes, commas and angle brackets do not count, nor does the case of letters, nor dots at
/// the end.
fn of_text(text: &str) -> [u8; 16] {
    let counts = |letter: &char| !letter.is_ascii_whitespace() && !"<>'\",".contains(*letter);
    let plain: String = text.chars().filter(counts).map(|letter| letter.to_ascii_lowercase()).collect();
    Md5::digest(plain.trim_end_matches('.')).into()
}

#[cfg(test)]
mod tests {
    use super::super::parse;

    #[test]
    fn checksums_are_those_that_dcc_printed() {
        let file = "ok ip 192.0.2.25\nok2 env_from bounce@example.com\n\
            ok2 From \"Sales Dept\" <sales@example.com>\nmany Message-ID <bad@example.com>\n\
            ok hex Body a06f63df 504229d7 7816c2d6 e558b833\n";
        let mut found = Vec::new();
        for entry in parse(file).expect("a whitelist").entries {
            entry.subject.each_sum(|sum| found.push(sum.to_string()));
        }
        let expected = [
            "IP 1a61f9b1 577e00b3 9f07d2c5 ec685c29",
            "env_From 53b1c7cf b9055950 db46d23f d9855438",
            "From 1f63a151 e4e4c04b d071ceaa eff27b50",
            "Message-ID dc8d5bc3 740c2bd1 83d8195a 7d133a24",
            "Body a06f63df 504229d7 7816c2d6 e558b833",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_block_has_a_checksum_for_each_address() {
        let mut number = 0;
        let whitelist = parse("ok ip 192.0.2.0/24\n").expect("a whitelist");
        whitelist.entries.iter().for_each(|entry| entry.subject.each_sum(|_| number += 1));
        assert_eq!(number, 256);
    }
}
