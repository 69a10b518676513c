//! Razor2's signatures, as the Debian client `razor` 2.85 computes them.
//!
//! A mail is split into parts, each part is prepared and cleaned, and each clean text has one signature of
//! engine 4 (a digest of the text, or of two sections of it that a seed chooses) and one of engine 8 for each
//! host that it links to.
//!
//! ```
//! use seenit_signature::razor::{Ep4, sign};
//!
//! let parts = sign(b"Subject: hello\n\nSee http://www.example.com/ now.\n", &Ep4::default());
//! let e4 = parts[0].e4.expect("the part has text");
//! assert_eq!(e4.to_string().len(), 28);
//! let hosts: Vec<&[u8]> = parts[0].e8.iter().map(|found| found.host.as_slice()).collect();
//! assert_eq!(hosts, [&b"www.example.com"[..], b"example.com"]);
//! ```
//!
//! `razor-check` and its sisters read files, which changes bodies with lines that start with `From `: give them
//! [`mails_of_file`] first. SpamAssassin hands over mail as it is.
//!
//! Known differences from the client:
//! * It sends one form of each host, shortened by its own old table of suffixes. We give both the whole host and
//!   what the Public Suffix List says is registrable; the client's is nearly always one of the two.
//! * It gives up on a mail in which a host has a character reference beyond 255; we leave out that host.
//! * It sends a host that is written without a scheme twice if it is there twice; we give every host once.
//! * It uses the separator as a regular expression, we take it literally.
//! * Parts of parts, parts and hosts are limited here (`DEPTH_MAX`, `PARTS_MAX`, `HOSTS_MAX`), but not in the client.

pub mod b64r;
mod clean;
mod e4;
mod e8;
mod ep4;
mod host;
mod html;
mod mails;
mod prepare;
mod split;
mod text;

use std::fmt;
use std::str::FromStr;

pub use ep4::{Ep4, Ep4Error};
pub use mails::mails_of_file;

/// The signatures of one part of a mail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// That of engine 4, or none if the part yields no signatures at all.
    pub e4: Option<E4>,
    /// Those of engine 8, in the order of the hosts.
    pub e8: Vec<Host>,
    /// What engine 4 is taken of, cleaned.
    pub text: Vec<u8>,
}

/// A host that a part links to, and its signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// The host, in the form that is hashed. Any bytes are possible.
    pub host: Vec<u8>,
    /// The signature of engine 8.
    pub signature: E8,
}

/// A signature of engine 4: a SHA-1 digest. Its text form has 28 characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct E4(pub [u8; 20]);

/// A signature of engine 8: six bytes of the SHA-1 digest of a host, two of that of the text's length in
/// hundreds. Its text form has 12 characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct E8(pub [u8; 8]);

/// The signatures of the parts of a mail, in the order and with the numbers that the client gives them.
///
/// `mail` is taken as it is. What `razor-check` does to a file before this, [`mails_of_file`] does.
pub fn sign(mail: &[u8], ep4: &Ep4) -> Vec<Part> {
    split::parts_of_mail(mail)
        .iter()
        .filter_map(prepare::prepared)
        .map(|text| sign_prepared(text, ep4))
        .collect()
}

/// What names a message in the eyes of Razor: the signatures of engine 4 of all its parts, whatever their order. That
/// of a message of one part is its own; no parts have no name.
pub fn together(parts: impl IntoIterator<Item = E4>) -> Option<E4> {
    let mut parts: Vec<E4> = parts.into_iter().collect();
    parts.sort_unstable();
    parts.dedup();
    if let [] | [_] = parts.as_slice() {
        return parts.first().copied();
    }
    let mut hasher = blake3::Hasher::new_derive_key("seenit razor-e4 parts");
    parts.iter().for_each(|part| {
        hasher.update(&part.0);
    });
    let mut digest = [0; 20];
    hasher.finalize_xof().fill(&mut digest);
    Some(E4(digest))
}

fn sign_prepared(prepared: Vec<u8>, ep4: &Ep4) -> Part {
    let text = clean::decoded(prepared);
    let Some(body) = clean::body(&text).filter(|body| clean::yields_signatures(body)) else {
        return Part::default();
    };
    let stripped = html::stripped(&text);
    let without_html = stripped.as_deref().map_or(Some(body), clean::body).unwrap_or_default();
    let e4 = Some(e4::signature(without_html, ep4));
    Part { e4, e8: e8::signatures(body), text: without_html.to_vec() }
}

/// The text form, that of [`b64r`].
impl fmt::Display for E4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&b64r::encode(&self.0))
    }
}

/// The text form, that of [`b64r`].
impl fmt::Display for E8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&b64r::encode(&self.0))
    }
}

impl FromStr for E4 {
    type Err = b64r::Error;

    fn from_str(text: &str) -> Result<Self, b64r::Error> {
        b64r::decode(text.as_bytes()).map(Self)
    }
}

impl FromStr for E8 {
    type Err = b64r::Error;

    fn from_str(text: &str) -> Result<Self, b64r::Error> {
        b64r::decode(text.as_bytes()).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use sha1::{Digest, Sha1};

    use super::*;

    #[test]
    fn parts_name_a_message_together_in_any_order_and_one_part_names_it_alone() {
        let [one, two, three] = [E4([1; 20]), E4([2; 20]), E4([3; 20])];
        assert_eq!(together([]), None);
        assert_eq!(together([one, one]), Some(one));
        assert_eq!(together([one, two]), together([two, one, two]));
        let all = [vec![one], vec![one, two], vec![two, three], vec![one, two, three]];
        let names: std::collections::HashSet<_> = all.into_iter().map(together).collect();
        assert_eq!(names.len(), 4);
    }

    /// The length and digest of a text, as the table of vectors has them.
    fn summary(text: &[u8]) -> [String; 2] {
        [text.len().to_string(), hex::encode(Sha1::digest(text))]
    }

    /// The rows of a mail: prepared text, clean text of engine 4, clean text of engine 8.
    fn stages(file: &[u8]) -> Vec<Vec<String>> {
        let mails = mails_of_file(file);
        let parts = split::parts_of_mail(&mails[0]);
        let rows = parts.iter().filter_map(prepare::prepared).map(|prepared| {
            let text = clean::decoded(prepared.clone());
            let stripped = html::stripped(&text).unwrap_or_else(|| text.clone());
            let body = |text| clean::body(text).expect("there is a blank line");
            [summary(&prepared), summary(body(&stripped)), summary(body(&text))].concat()
        });
        rows.collect()
    }

    #[test]
    fn every_stage_gives_what_the_client_s_gives() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/razor2/");
        let table = std::fs::read_to_string(format!("{folder}intermediate.tsv")).expect("the table is there");
        let rows: Vec<Vec<&str>> = table
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.split('\t').collect())
            .collect();
        assert_eq!(rows.len(), 13);
        for row in rows {
            let file = std::fs::read(format!("{folder}{}", row[0])).expect("the mail is there");
            let part: usize = row[1].parse().expect("the number of a part");
            assert_eq!(stages(&file)[part], row[2..], "{} part {part}", row[0]);
        }
    }
}
