//! rspamd's fuzzy packets against captures of its own programs, in the clear and sealed.

use proptest::prelude::*;
use seenit_wire::fuzzy::{
    Action, Command, CommandError, Form, KeyError, Nonce, Packet, PublicKey, Refusal, Reply, Sealed,
    SecretKey, SharedKey,
};

const PLAIN: &str = include_str!("vectors/fuzzy/plain.tsv");
const SEALED: &str = include_str!("vectors/fuzzy/sealed.tsv");

/// The keys of the captures, made for tests and for nothing else.
const SECRET: &str = "afmhzihyy9cxxh6pg6yk1f8pm86gt3yj9n7ah9qphiz3rk8ozchy";
const PUBLIC: &str = "s73r7eo1sndoymydptumhrkgeyoshhwqeyutmm9trzr36mt6ed6y";

fn rows(file: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    file.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect())
}

fn bytes(text: &str) -> Vec<u8> {
    hex::decode(text).expect("hexadecimal")
}

fn plain(datagram: &[u8]) -> Command {
    match Packet::decode(datagram) {
        Ok(Packet::Plain(command)) => command,
        other => panic!("a command in the clear was expected, not {other:?}"),
    }
}

fn sealed(datagram: &[u8]) -> Sealed<'_> {
    match Packet::decode(datagram) {
        Ok(Packet::Sealed(sealed)) => sealed,
        other => panic!("a sealed command was expected, not {other:?}"),
    }
}

fn secret() -> SecretKey {
    SecretKey::from_text(SECRET).expect("a key")
}

fn encoded(reply: &Reply, form: Form) -> Vec<u8> {
    let mut out = Vec::new();
    reply.encode(form, &mut out);
    out
}

/// A reply of rspamd's, read again: the layout, by other means than the encoder's.
fn reply_of(text: &[u8]) -> Reply {
    let number = |at: usize| u32::from_le_bytes(text[at..at + 4].try_into().expect("four bytes"));
    Reply {
        value: number(0).cast_signed(),
        flag: number(4),
        tag: number(8),
        probability: f32::from_bits(number(12)),
        digest: text[16..80].try_into().expect("a digest"),
        time: number(80),
    }
}

#[test]
fn captured_commands_are_read() {
    for row in rows(PLAIN) {
        let [action, flag, value, tag, .., request, _] = row[..] else { panic!("{row:?}") };
        let request = bytes(request);
        let command = plain(&request);
        let wanted = match action {
            "check" => Action::Check,
            "write" => Action::Write,
            "delete" => Action::Delete,
            "stat" => Action::Count,
            other => panic!("an unknown command: {other}"),
        };
        assert_eq!((command.action, command.form), (wanted, Form::Full));
        let found = (command.flag.to_string(), command.value.to_string(), command.tag.to_string());
        assert_eq!(found, (flag.to_owned(), value.to_owned(), tag.to_owned()));
        assert_eq!(command.digest, request[12..76]);
        assert_eq!(command.shingles.is_some(), request[2] == 32);
    }
}

#[test]
fn shingles_are_numbers_of_eight_bytes_lowest_first() {
    let first = rows(PLAIN).next().expect("a row");
    let shingles = plain(&bytes(first[8])).shingles.expect("shingles");
    assert_eq!(shingles[..2], [63_091_737_235_901_586, 99_288_484_009_894_887]);
    assert_eq!(shingles[31], 59_881_963_603_137_709);
}

#[test]
fn captured_replies_are_written_to_the_byte() {
    for row in rows(PLAIN) {
        let [action, _, _, _, value, flag, probability, time, request, reply] = row[..] else {
            panic!("{row:?}")
        };
        let command = plain(&bytes(request));
        let captured = bytes(reply);
        let number = |text: &str| text.parse::<u32>().expect("a number");
        let ours = match (action, probability) {
            ("check", "0.0") => Reply::miss(&command),
            ("stat", _) => Reply::count(&command, number(flag)),
            ("write" | "delete", _) => Reply::done(&command),
            _ => Reply {
                value: number(value).cast_signed(),
                flag: number(flag),
                probability: probability.parse().expect("a probability"),
                // Of a near match this is the digest that is known, not the one that was asked for.
                digest: captured[16..80].try_into().expect("a digest"),
                time: number(time),
                ..Reply::miss(&command)
            },
        };
        assert_eq!(hex::encode(encoded(&ours, Form::Full)), reply, "{action}");
    }
}

#[test]
fn captured_sealed_commands_are_opened_and_replies_sealed_to_the_byte() {
    for row in rows(SEALED) {
        let [request, in_the_clear, reply, reply_in_the_clear] = row[..] else { panic!("{row:?}") };
        let request = bytes(request);
        let sealed = sealed(&request);
        assert_eq!(sealed.key_id, secret().public().id());
        let key = secret().share(&sealed.client).expect("a shared key");
        let command = sealed.open(&key).expect("a command");
        assert_eq!(command, plain(&bytes(in_the_clear)));

        let nonce: Nonce = bytes(reply)[..24].try_into().expect("a nonce");
        let mut out = Vec::new();
        reply_of(&bytes(reply_in_the_clear)).encode_sealed(Form::Full, &key, &nonce, &mut out);
        assert_eq!(hex::encode(out), reply);
    }
}

#[test]
fn keys_are_written_as_rspamd_writes_them() {
    let key = secret();
    assert_eq!(key.to_text(), SECRET);
    assert_eq!(key.public().to_string(), PUBLIC);
    assert_eq!(PublicKey::from_text(PUBLIC), Ok(key.public()));
    assert_eq!(hex::encode(key.public().id()), "b667d21194560c08");
    assert!(!format!("{key:?}").contains(SECRET));
    // A letter that is none, too few letters, and bits where none belong.
    for wrong in [&SECRET.replace('a', "v"), &SECRET[1..], &format!("{}9", &SECRET[..51]), ""] {
        assert_eq!(SecretKey::from_text(wrong).err(), Some(KeyError::Text), "{wrong}");
    }
}

#[test]
fn a_key_that_gives_no_secret_is_refused() {
    for weak in [[0; 32], *b"\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"] {
        assert_eq!(secret().share(&PublicKey::from_bytes(weak)).err(), Some(KeyError::Weak));
    }
}

/// The first sealed command of the captures.
fn a_sealed_command() -> (Vec<u8>, SharedKey) {
    let request = bytes(rows(SEALED).next().expect("a row")[0]);
    let key = secret().share(&sealed(&request).client).expect("a shared key");
    (request, key)
}

#[test]
fn a_sealed_command_that_was_changed_is_refused() {
    let (request, key) = a_sealed_command();
    // The nonce, the tag and the ciphertext; first and last bytes.
    for place in [44, 67, 68, 83, 84, 433] {
        let mut changed = request.clone();
        changed[place] ^= 1;
        assert_eq!(sealed(&changed).open(&key), Err(CommandError::Seal), "byte {place}");
    }
    assert_eq!(sealed(&request[..433]).open(&key), Err(CommandError::Seal));
    let stranger = SecretKey::from_bytes([7; 32]).share(&sealed(&request).client).expect("a shared key");
    assert_eq!(sealed(&request).open(&stranger), Err(CommandError::Seal));
}

#[test]
fn sealed_commands_have_a_whole_head_and_an_end() {
    let (request, key) = a_sealed_command();
    assert_eq!(Packet::decode(&request[..83]), Err(CommandError::Length(83)));
    assert_eq!(sealed(&request[..84]).open(&key), Err(CommandError::Seal));
    let long = [&request[..], &[0; 1024]].concat();
    assert_eq!(Packet::decode(&long), Err(CommandError::Length(long.len())));
}

/// A command of 76 bytes, with whatever follows it.
fn command(version: u8, action: u8, shingles: u8, rest: &[u8]) -> Vec<u8> {
    [&[version, action, shingles, 1, 2, 0, 0, 0, 3, 0, 0, 0][..], &[9; 64], rest].concat()
}

#[test]
fn newer_clients_are_understood_and_older_ones_get_a_short_reply() {
    for version in [4, 0x14, 5, 0x84] {
        assert_eq!(plain(&command(version, 4, 0, &[])).form, Form::Full, "{version:#x}");
    }
    let old = plain(&command(3, 0, 32, &[1; 256]));
    assert_eq!(old.form, Form::Short);
    assert_eq!(old.shingles, Some([0x0101_0101_0101_0101; 32]));
    let reply = Reply::done(&old);
    assert_eq!(encoded(&reply, Form::Short), encoded(&reply, Form::Full)[..16]);
    for version in [0, 2, 6, 0x12] {
        let refused = Packet::decode(&command(version, 0, 0, &[])).expect_err("a refusal");
        assert_eq!(refused, CommandError::Version(version & 15));
    }
}

#[test]
fn what_rspamd_would_drop_is_refused() {
    let refusal = |datagram: &[u8]| Packet::decode(datagram).expect_err("a refusal");
    assert_eq!(refusal(&[]), CommandError::Length(0));
    assert_eq!(refusal(&command(4, 0, 0, &[])[..75]), CommandError::Length(75));
    assert_eq!(refusal(&command(4, 0, 32, &[0; 255])), CommandError::Length(331));
    assert_eq!(refusal(&command(3, 0, 0, b"4aaaa")), CommandError::Length(81));
    assert_eq!(refusal(&command(4, 5, 0, &[])), CommandError::Action(5));
    assert_eq!(refusal(&command(4, 0, 0, &[0xff; 949])), CommandError::Length(1025));
}

#[test]
fn extensions_are_walked_over() {
    for good in [&b""[..], b"d\x02ab", b"4abcd", b"6abcdefghijklmnop", b"\x80\x04aaaa\xff\x00d\x00"] {
        plain(&command(4, 0, 0, good));
    }
    for bad in [&b"d"[..], b"d\x03ab", b"4abc", b"6abcd", b"x", b"\x7f\x00", b"\x80", b"\x80\x01"] {
        assert_eq!(Packet::decode(&command(4, 0, 0, bad)), Err(CommandError::Extension(bad[0])), "{bad:?}");
    }
}

#[test]
fn refusals_are_below_one_half_and_have_rspamds_codes() {
    let to = plain(&command(4, 1, 0, &[]));
    for (refusal, code) in [
        (Refusal::Skipped, 401),
        (Refusal::Forbidden, 403),
        (Refusal::SealRequired, 415),
        (Refusal::Broken, 500),
    ] {
        assert_eq!(Reply::refused(&to, refusal), Reply { value: code, ..Reply::miss(&to) });
    }
}

proptest! {
    #[test]
    fn any_bytes_are_a_packet_or_refused(
        is_sealed: bool,
        bytes in proptest::collection::vec(any::<u8>(), 0..600),
    ) {
        let datagram = if is_sealed { [b"rsfe", &bytes[..]].concat() } else { bytes };
        if let Ok(Packet::Sealed(sealed)) = Packet::decode(&datagram) {
            let opened = secret().share(&sealed.client).map(|key| sealed.open(&key));
            prop_assert!(!matches!(opened, Ok(Ok(_))), "nobody sealed this");
        }
    }

    #[test]
    fn a_key_is_read_from_its_own_text(bytes: [u8; 32]) {
        let key = PublicKey::from_bytes(bytes);
        prop_assert_eq!(PublicKey::from_text(&key.to_string()), Ok(key));
    }

    #[test]
    fn a_reply_is_read_as_it_was_written(
        value: i32, flag: u32, tag: u32, shingles in 0_u8..=32, half: [u8; 32], time: u32,
    ) {
        let digest = [half, half].concat().try_into().expect("64 bytes");
        let reply = Reply { value, flag, tag, probability: f32::from(shingles) / 32.0, digest, time };
        let bytes = encoded(&reply, Form::Full);
        prop_assert_eq!(bytes.len(), 96);
        prop_assert_eq!(reply_of(&bytes), reply);
    }

    #[test]
    fn both_sides_have_one_shared_key(ours: [u8; 32], theirs: [u8; 32], nonce: [u8; 24]) {
        let (ours, theirs) = (SecretKey::from_bytes(ours), SecretKey::from_bytes(theirs));
        let reply = Reply::count(&plain(&command(4, 3, 0, &[])), 5);
        let sealed = |key: SharedKey| {
            let mut out = Vec::new();
            reply.encode_sealed(Form::Full, &key, &nonce, &mut out);
            out
        };
        let there = sealed(ours.share(&theirs.public()).expect("a shared key"));
        prop_assert_eq!(there.len(), 136);
        prop_assert_eq!(there, sealed(theirs.share(&ours.public()).expect("a shared key")));
    }
}
