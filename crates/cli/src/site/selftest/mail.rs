//! The message that is asked about, its signatures, and how its test is undone.

use seenit_signature::razor::Ep4;
use seenit_signature::{Kind, sign};
use serde_json::{Value, json};

use super::trouble::Trouble;
use crate::client::{AskError, Client, MESSAGE};
use crate::problem::Problem;

/// Words of a line: enough for an exact signature, and too few for shingles. What is said of those would count as a
/// text of this site's, however often it is taken back, and a site learns from its texts how alike replicas are.
const WORDS: usize = 7;

/// Lines, all of them the same: with fewer words than so many lines have, rspamd's digest is withheld.
const LINES: usize = 6;

/// Letters of a word: Pyzor reads over longer ones, and two messages have not one word in common.
const LETTERS: usize = 8;

/// A message that nobody has seen before, and that every protocol has a signature of. What an earlier test left behind
/// is of another.
pub(super) fn new() -> Result<Vec<u8>, Problem> {
    let mut random = [0; WORDS * LETTERS];
    let broken = |error: getrandom::Error| Problem::io("random words")(std::io::Error::other(error));
    getrandom::fill(&mut random).map_err(broken)?;
    let letter = |byte: &u8| char::from(b'a' + byte % 26);
    let words: Vec<String> = random.chunks(LETTERS).map(|word| word.iter().map(letter).collect()).collect();
    let text = format!(
        "From: selftest@seenit.invalid\r\nTo: nobody@seenit.invalid\r\nSubject: a test of seenit\r\n\
         Content-Type: text/plain; charset=us-ascii\r\n\r\n{}",
        format!("{}\r\n", words.join(" ")).repeat(LINES)
    );
    Ok(text.into_bytes())
}

/// The digest of one kind.
pub(super) fn digest<const N: usize>(mail: &[u8], kind: Kind, ep4: &Ep4) -> Result<[u8; N], Trouble> {
    let signature =
        sign(mail, ep4).into_iter().find(|signature| signature.kind == kind && !signature.withheld);
    let digest = signature.and_then(|signature| signature.digest.to_bytes().try_into().ok());
    digest.ok_or(Trouble::Unsigned(kind.as_str()))
}

/// Take back what clients of this machine said: the operator or another user, which of them we are the server knows.
const WITHDRAW: [&str; 2] = ["/v1/withdraw?reporter=operator", "/v1/withdraw?reporter=local"];

/// Takes back what clients of this machine said of these signatures. Their protocols cannot.
pub(super) fn withdraw(client: &Client, signatures: &[(Kind, &[u8])]) -> Result<(), AskError> {
    WITHDRAW.into_iter().try_for_each(|path| client.post_json::<Value>(path, &case(signatures)).map(drop))
}

/// The same of all signatures that the message has.
pub(super) fn withdraw_all(client: &Client, mail: &[u8]) -> Result<(), AskError> {
    WITHDRAW.into_iter().try_for_each(|path| client.post::<Value>(path, MESSAGE, mail).map(drop))
}

/// Has the seen counts of signatures begin anew. DCC's own DELETE takes an account.
pub(super) fn forget(client: &Client, signatures: &[(Kind, &[u8])]) -> Result<(), AskError> {
    client.post_json::<Value>("/v1/forget", &case(signatures)).map(drop)
}

fn case(signatures: &[(Kind, &[u8])]) -> Value {
    let one = |(kind, digest): &(Kind, &[u8])| json!({"kind": kind.as_str(), "digest": hex::encode(digest)});
    json!({"case": signatures.iter().map(one).collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_protocol_knows_the_message_and_no_shingles_are_made_of_it() {
        let mail = new().expect("random words");
        let signatures = sign(&mail, &Ep4::default());
        let mut usable: Vec<Kind> =
            signatures.iter().filter(|one| !one.withheld).map(|one| one.kind).collect();
        usable.sort_by_key(|kind| kind.code());
        let expected = [Kind::Exact1, Kind::Pyzor, Kind::RazorE4, Kind::DccBody, Kind::DccFuz1, Kind::Rspamd];
        let mut expected = expected.to_vec();
        expected.sort_by_key(|kind| kind.code());
        assert_eq!(usable, expected);
        assert_ne!(new().expect("random words"), mail);
    }
}
