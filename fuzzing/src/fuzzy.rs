//! The laws of rspamd's fuzzy packets, checked on whatever the fuzzer sends.

use std::sync::LazyLock;

use seenit_wire::fuzzy::{
    Command, CommandError, DATAGRAM_BYTES_MAX, Form, Packet, Reply, Sealed, SecretKey, SharedKey,
};

/// The key that the sealed seeds are sealed for, made for tests and for nothing else.
const SECRET: &str = "afmhzihyy9cxxh6pg6yk1f8pm86gt3yj9n7ah9qphiz3rk8ozchy";

static KEY: LazyLock<SecretKey> = LazyLock::new(|| SecretKey::from_text(SECRET).expect("a key"));

/// Where the ciphertext of a sealed command begins.
const CIPHERTEXT: usize = 84;

/// Reads a datagram, answers it, and holds both against every law.
///
/// # Panics
/// When a law is broken.
pub fn check(datagram: &[u8]) {
    // What a client of ours hears: any bytes are a reply or none.
    for form in [Form::Short, Form::Full] {
        let _ = Reply::decode(form, datagram);
    }
    let packet = Packet::decode(datagram);
    assert!(packet.is_err() || datagram.len() <= DATAGRAM_BYTES_MAX, "{} bytes", datagram.len());
    match packet {
        Ok(Packet::Plain(command)) => check_reply(&command, None),
        Ok(Packet::Sealed(sealed)) => check_sealed(&sealed, datagram),
        Err(_) => {}
    }
}

fn check_sealed(sealed: &Sealed<'_>, datagram: &[u8]) {
    let Ok(key) = KEY.share(&sealed.client) else { return };
    let opened = sealed.open(&key);
    assert_eq!(opened, sealed.open(&key), "opening is a function of the bytes");
    if let Ok(command) = opened {
        check_reply(&command, Some(&key));
        check_changed(&key, datagram);
    }
}

/// A sealed command of which one bit is another is none.
fn check_changed(key: &SharedKey, datagram: &[u8]) {
    let mut changed = datagram.to_vec();
    changed[CIPHERTEXT] ^= 1;
    match Packet::decode(&changed) {
        Ok(Packet::Sealed(sealed)) => assert_eq!(sealed.open(key), Err(CommandError::Seal)),
        other => panic!("a changed ciphertext made another packet: {other:?}"),
    }
}

fn check_reply(command: &Command, key: Option<&SharedKey>) {
    let reply = Reply::done(command);
    let mut out = Vec::new();
    reply.encode(command.form, &mut out);
    let bytes = match command.form {
        Form::Short => 16,
        Form::Full => 96,
    };
    assert_eq!(out.len(), bytes);
    assert_eq!(out[8..12], command.tag.to_le_bytes());
    if let Some(key) = key {
        reply.encode_sealed(command.form, key, &[0; 24], &mut out);
        assert_eq!(out.len(), bytes + 40 + bytes, "replies are appended");
    }
}
