//! The invite: one string that the admin sends to the operator of a new site, and all that the site needs to join.
//!
//! It is letters of Crockford's base 32, so that neither upper and lower case nor white space matter, and a mail
//! program may wrap it. Its length and a checksum are in it, so that what was cut or mistyped is said to be that.
//!
//! It is a secret: whoever has it may leave an introduction. That admits nobody, because the admin compares six words
//! of the introduction with the site's operator first.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use seenit_sites::key::{AdminKey, AdminSecret, BrokerKey, BrokerSecret, KEY_BYTES, SIGNATURE_BYTES};
use seenit_sites::roster::Name;
use sha2::{Digest, Sha256};

use super::BrokerError;
use super::jwt::{self, Authority, User};

/// What an invite begins with: what it is, and the version of its format.
const PREFIX: &str = "seenit-invite-1-";

/// Letters in the order of their values: without those that look like others.
const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Random bytes of the one-time key: what nobody guesses.
const SEED_BYTES: usize = 16;

const CHECKSUM_BYTES: usize = 4;

/// Addresses of one broker that are worth a try.
const ADDRESSES_MAX: usize = 16;

/// Bytes of certificates: a chain of a few. More makes a string that nobody wants to send.
const AUTHORITY_BYTES_MAX: usize = 8192;

/// The longest text that is looked at: an invite with all that it may have, and white space.
pub const INVITE_LETTERS_MAX: usize = 64 * 1024;

const SECRET_CONTEXT: &str = "seenit 2026 one-time key of an invite v1";

/// Why a text is no invite, or why one cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InviteError {
    /// Something else.
    #[error("this is no invite: it does not begin with {PREFIX}; copy the whole string that the admin sent")]
    Prefix,
    /// A letter that no invite has.
    #[error("the invite has {0:?} in it, which no invite has; copy the string again")]
    Letter(char),
    /// Too short or too long.
    #[error(
        "the invite has {found} letters where it says to have {said}: {}; copy the whole string again",
        if found < said { "its end is missing" } else { "something follows it" }
    )]
    Length {
        /// Letters that are there.
        found: usize,
        /// Letters that there should be.
        said: usize,
    },
    /// A letter is another one.
    #[error("a letter of the invite is wrong (its checksum does not fit); copy the string again")]
    Checksum,
    /// It has what no invite has.
    #[error("the invite cannot be read ({0}): was it made by a newer seenit? ask the admin for another one")]
    Form(&'static str),
    /// The network's admin did not sign it.
    #[error("the invite is not signed by the admin of its network: ask the admin for another one")]
    Signature,
    /// Too much for one string.
    #[error("an invite cannot hold {0}")]
    TooMuch(String),
}

/// An invite to a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invite {
    /// The network.
    pub network: AdminKey,
    /// What the admin calls the new site.
    pub name: Name,
    /// When it ends, in seconds since the Unix epoch.
    pub expires_secs: u64,
    /// Where the broker is.
    pub addresses: Vec<String>,
    /// Whether the broker may be spoken to without TLS.
    pub insecure_plaintext: bool,
    /// Certificates of the authority of the broker's certificate, in DER; empty for those that the system trusts.
    pub authority: Vec<Vec<u8>>,
    seed: [u8; SEED_BYTES],
    signature: [u8; SIGNATURE_BYTES],
}

/// What an invite says of the broker.
#[derive(Clone, Debug, Default)]
pub struct BrokerAddress {
    /// Its addresses.
    pub addresses: Vec<String>,
    /// Whether it may be spoken to without TLS.
    pub insecure_plaintext: bool,
    /// Its authority's certificates, in DER.
    pub authority: Vec<Vec<u8>>,
}

impl BrokerAddress {
    /// The same with the certificates of a PEM file.
    pub fn with_authority(mut self, path: &Path) -> Result<Self, BrokerError> {
        let failed = |error: rustls::pki_types::pem::Error| BrokerError::file(path, error);
        for certificate in CertificateDer::pem_file_iter(path).map_err(failed)? {
            self.authority.push(certificate.map_err(failed)?.to_vec());
        }
        Ok(self)
    }
}

impl Invite {
    /// An invite for the site of this name. The seed is random and used for nothing else.
    pub fn sign(
        admin: &AdminSecret,
        name: Name,
        expires_secs: u64,
        broker: BrokerAddress,
        seed: [u8; SEED_BYTES],
    ) -> Result<Self, InviteError> {
        let signature = Authority::of(admin).invite(&secret_of(&seed).public(), expires_secs);
        let BrokerAddress { addresses, insecure_plaintext, authority } = broker;
        let network = admin.public();
        let invite =
            Invite { network, name, expires_secs, addresses, insecure_plaintext, authority, seed, signature };
        // What is too much is said here, and not at the new site.
        if invite.addresses.len() > ADDRESSES_MAX {
            return Err(InviteError::TooMuch(format!("more than {ADDRESSES_MAX} addresses")));
        }
        if let Some(long) = invite.addresses.iter().find(|address| address.len() > 255) {
            return Err(InviteError::TooMuch(format!("the address {long}: it has more than 255 letters")));
        }
        let bytes: usize = invite.authority.iter().map(Vec::len).sum();
        if bytes > AUTHORITY_BYTES_MAX || invite.authority.len() > 255 {
            let why = format!("certificates of {bytes} bytes: at most {AUTHORITY_BYTES_MAX} bytes");
            return Err(InviteError::TooMuch(why));
        }
        Ok(invite)
    }

    /// As whom its holder connects: as nobody who could do more than knock.
    pub fn user(&self) -> Result<User, InviteError> {
        let secret = secret_of(&self.seed);
        let jwt = jwt::invited(&self.network, &secret.public(), self.expires_secs, &self.signature);
        jwt.map(|jwt| User { jwt, secret }).ok_or(InviteError::Signature)
    }

    /// The key of its holder, as the broker knows it.
    pub fn key(&self) -> BrokerKey {
        secret_of(&self.seed).public()
    }

    /// The certificates of the authority as a file has them; nothing if there are none.
    pub fn authority_pem(&self) -> Option<String> {
        let one = |certificate: &Vec<u8>| {
            let letters = STANDARD.encode(certificate);
            let lines = letters.as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line) + "\n");
            let lines: String = lines.collect();
            format!("-----BEGIN CERTIFICATE-----\n{lines}-----END CERTIFICATE-----\n")
        };
        (!self.authority.is_empty()).then(|| self.authority.iter().map(one).collect())
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![u8::from(self.insecure_plaintext)];
        bytes.extend(self.network.to_bytes());
        bytes.extend(self.seed);
        bytes.extend(self.signature);
        bytes.extend(self.expires_secs.to_le_bytes());
        // Lengths fit by the making of an invite.
        push(&mut bytes, self.name.as_str().as_bytes());
        bytes.push(self.addresses.len() as u8);
        self.addresses.iter().for_each(|address| push(&mut bytes, address.as_bytes()));
        bytes.push(self.authority.len() as u8);
        for certificate in &self.authority {
            bytes.extend((certificate.len() as u16).to_le_bytes());
            bytes.extend(certificate);
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Result<Self, InviteError> {
        let mut rest = Rest(bytes);
        let insecure_plaintext = match rest.byte()? {
            0 => false,
            1 => true,
            _ => return Err(InviteError::Form("its flags")),
        };
        let network: [u8; KEY_BYTES] = rest.array()?;
        let network = AdminKey::from_bytes(&network).map_err(|_| InviteError::Form("its network's key"))?;
        let seed = rest.array()?;
        let signature = rest.array()?;
        let expires_secs = u64::from_le_bytes(rest.array()?);
        let name = rest.text()?.parse().map_err(|_| InviteError::Form("its name"))?;
        let count = usize::from(rest.byte()?);
        if !(1..=ADDRESSES_MAX).contains(&count) {
            return Err(InviteError::Form("its addresses"));
        }
        let addresses = (0..count).map(|_| rest.text().map(str::to_owned)).collect::<Result<_, _>>()?;
        let count = rest.byte()?;
        let certificate = |rest: &mut Rest<'_>| {
            let length = u16::from_le_bytes(rest.array()?);
            rest.run(length.into()).map(<[u8]>::to_vec)
        };
        let authority = (0..count).map(|_| certificate(&mut rest)).collect::<Result<_, _>>()?;
        if !rest.0.is_empty() {
            return Err(InviteError::Form("its end"));
        }
        let invite =
            Invite { network, name, expires_secs, addresses, insecure_plaintext, authority, seed, signature };
        invite.user().map(|_| invite)
    }
}

impl fmt::Display for Invite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = self.encode();
        let length = (bytes.len() as u16).to_le_bytes();
        bytes.splice(0..0, length);
        bytes.extend(checksum(&bytes));
        write!(f, "{PREFIX}{}", to_letters(&bytes))
    }
}

impl FromStr for Invite {
    type Err = InviteError;

    fn from_str(text: &str) -> Result<Self, InviteError> {
        if text.len() > INVITE_LETTERS_MAX {
            return Err(InviteError::TooMuch(format!("more than {INVITE_LETTERS_MAX} letters")));
        }
        // White space of mail programs, their marks of quoting, and our own hyphens.
        let is_noise =
            |letter: &char| letter.is_whitespace() || matches!(letter, '-' | '>' | '"' | '\'' | '=');
        let text: String = text.chars().filter(|letter| !is_noise(letter)).collect();
        let text = text.to_ascii_lowercase();
        let letters = text.strip_prefix(&PREFIX.replace('-', "")).ok_or(InviteError::Prefix)?;
        let bytes = from_letters(letters)?;
        let [low, high, ..] = bytes.as_slice() else {
            return Err(InviteError::Length { found: letters.len(), said: letters_of(2 + CHECKSUM_BYTES) });
        };
        let length = 2 + usize::from(u16::from_le_bytes([*low, *high])) + CHECKSUM_BYTES;
        if bytes.len() != length || letters.len() != letters_of(length) {
            return Err(InviteError::Length { found: letters.len(), said: letters_of(length) });
        }
        let (body, sum) = bytes.split_at(length - CHECKSUM_BYTES);
        if checksum(body) != sum {
            return Err(InviteError::Checksum);
        }
        Invite::decode(body.get(2..).unwrap_or_default())
    }
}

/// What is not read yet.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn run(&mut self, bytes: usize) -> Result<&'a [u8], InviteError> {
        let (run, rest) = self.0.split_at_checked(bytes).ok_or(InviteError::Form("its length"))?;
        self.0 = rest;
        Ok(run)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], InviteError> {
        self.run(N)?.try_into().map_err(|_| InviteError::Form("its length"))
    }

    fn byte(&mut self) -> Result<u8, InviteError> {
        self.array().map(|[byte]| byte)
    }

    fn text(&mut self) -> Result<&'a str, InviteError> {
        let length = self.byte()?;
        std::str::from_utf8(self.run(length.into())?).map_err(|_| InviteError::Form("its text"))
    }
}

fn secret_of(seed: &[u8; SEED_BYTES]) -> BrokerSecret {
    BrokerSecret::from_bytes(blake3::derive_key(SECRET_CONTEXT, seed))
}

fn push(bytes: &mut Vec<u8>, text: &[u8]) {
    bytes.push(text.len() as u8);
    bytes.extend(text);
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let [a, b, c, d, ..] = <[u8; 32]>::from(Sha256::digest(bytes));
    [a, b, c, d]
}

fn letters_of(bytes: usize) -> usize {
    (8 * bytes).div_ceil(5)
}

/// Five bits to a letter.
fn to_letters(bytes: &[u8]) -> String {
    let bit = |at: usize| bytes.get(at / 8).map_or(0, |byte| byte >> (7 - at % 8) & 1);
    let value = |at: usize| (0..5).fold(0, |value, next| value << 1 | bit(5 * at + next));
    (0..letters_of(bytes.len())).map(|at| char::from(LETTERS[usize::from(value(at))])).collect()
}

/// The bytes of letters in lower case; bits that make no whole byte are dropped.
fn from_letters(letters: &str) -> Result<Vec<u8>, InviteError> {
    let mut bytes = Vec::with_capacity(letters.len() * 5 / 8);
    let mut held = 0_u32;
    let mut bits = 0;
    for letter in letters.chars() {
        // Letters that look like digits are read as those.
        let read = match letter {
            'o' => '0',
            'i' | 'l' => '1',
            other => other,
        };
        let value = LETTERS.iter().position(|known| char::from(*known) == read);
        let value = value.ok_or(InviteError::Letter(letter))?;
        (held, bits) = ((held << 5 | value as u32) & 0xfff, bits + 5);
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits & 0xff) as u8);
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn invite(authority: Vec<Vec<u8>>) -> Invite {
        let addresses = vec!["tls://nats.example.org:4222".to_owned()];
        let broker = BrokerAddress { addresses, insecure_plaintext: false, authority };
        let name = "mail.example.org".parse().expect("a name");
        Invite::sign(&AdminSecret::from_bytes([1; 32]), name, 1_800_000_000, broker, [7; 16])
            .expect("it fits")
    }

    #[test]
    fn an_invite_survives_mail_programs() {
        let whole = invite(vec![vec![9; 400]]);
        let text = invite(vec![vec![9; 400]]).to_string();
        let wrapped: String = text.chars().enumerate().fold("> ".into(), |text: String, (at, letter)| {
            text + if at % 60 == 59 { "\r\n> " } else { "" } + &letter.to_string()
        });
        let letters = text.strip_prefix(PREFIX).expect("the prefix").to_ascii_uppercase();
        let upper = PREFIX.to_ascii_uppercase() + &letters.replace('1', "L").replace('0', "O");
        for text in [&text, &wrapped, &upper, &format!("  \"{text}\"\n")] {
            assert_eq!(text.parse(), Ok(whole.clone()), "{text}");
        }
        assert!(invite(vec![vec![9; 400]]).authority_pem().is_some_and(|pem| pem.contains("CQkJ")));
        assert!(invite(vec![]).to_string().len() < 300, "{}", invite(vec![]));
    }

    #[test]
    fn what_is_wrong_with_a_string_is_said() {
        let text = invite(vec![]).to_string();
        let wrong = |text: &str| text.parse::<Invite>().expect_err(text).to_string();
        assert!(wrong("").contains("does not begin with seenit-invite-1-"));
        assert!(wrong(PREFIX).contains("its end is missing"));
        assert!(wrong(&text[..text.len() - 5]).contains("its end is missing"));
        assert!(wrong(&format!("{text}abc")).contains("something follows it"));
        assert!(wrong(&format!("{}ü{}", &text[..100], &text[101..])).contains("'ü'"));
        let changed = if text.as_bytes()[100] == b'0' { "1" } else { "0" };
        let changed = format!("{}{changed}{}", &text[..100], &text[101..]);
        assert!(wrong(&changed).contains("a letter of the invite is wrong"));
    }

    #[test]
    fn an_invite_that_another_admin_changed_is_refused() {
        let mut forged = invite(vec![]);
        forged.expires_secs += 1;
        assert_eq!(forged.to_string().parse::<Invite>(), Err(InviteError::Signature));
    }

    #[test]
    fn what_is_too_much_for_an_invite_is_said_when_it_is_made() {
        let admin = AdminSecret::from_bytes([1; 32]);
        let made = |broker| Invite::sign(&admin, "a".parse().expect("a name"), 0, broker, [0; 16]);
        let long = BrokerAddress { addresses: vec!["x".repeat(256)], ..BrokerAddress::default() };
        assert!(matches!(made(long), Err(InviteError::TooMuch(_))));
        let heavy =
            BrokerAddress { authority: vec![vec![0; AUTHORITY_BYTES_MAX + 1]], ..BrokerAddress::default() };
        assert!(matches!(made(heavy), Err(InviteError::TooMuch(_))));
    }

    proptest! {
        #[test]
        fn letters_are_bytes_and_back(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(from_letters(&to_letters(&bytes)), Ok(bytes));
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in ".{0,200}", bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = format!("{PREFIX}{text}").parse::<Invite>();
            let _ = Invite::decode(&bytes);
            let mut whole = (bytes.len() as u16).to_le_bytes().to_vec();
            whole.extend(bytes);
            whole.extend(checksum(&whole));
            let _ = format!("{PREFIX}{}", to_letters(&whole)).parse::<Invite>();
        }
    }
}
