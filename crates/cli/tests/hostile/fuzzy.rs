//! rspamd's fuzzy check under siege, in the clear and sealed.

use seenit_wire::fuzzy::{Action, Packet};

use crate::client::{Seal, command};
use crate::common::Folder;
use crate::datagrams::bombard;
use crate::siege::Siege;

/// What rspamd sent and was answered.
const CAPTURED: &str = include_str!("../../../wire/tests/vectors/fuzzy/plain.tsv");

/// The column of a request.
const REQUEST: usize = 8;

const CHECK: u8 = 0;
const PING: u8 = 4;

/// What tells an answer to the question from all others.
const TAG: u32 = 0x5ee1_17ed;

fn captured() -> Vec<Vec<u8>> {
    let rows = CAPTURED.lines().filter(|line| !line.starts_with('#'));
    let sent = rows.map(|row| row.split('\t').nth(REQUEST).expect("a request"));
    sent.map(|packet| hex::decode(packet).expect("hexadecimal")).collect()
}

fn is_write(datagram: &[u8]) -> bool {
    let command = match Packet::decode(datagram) {
        Ok(Packet::Plain(command)) => command,
        _ => return false,
    };
    matches!(command.action, Action::Write | Action::Delete)
}

fn is_answer(reply: &[u8]) -> bool {
    reply.get(8..12) == Some(&TAG.to_le_bytes())
}

#[test]
fn half_a_million_datagrams_in_the_clear_do_fuzzy_no_harm() {
    let folder = Folder::new();
    let siege = Siege::lay(&folder, "fuzzy");
    let sound = captured();
    let question = command(PING, (0, 0), TAG, &[0; 64], None);
    bombard(siege, &question, is_answer, |dice| dice.hostile_but(&sound, is_write));
}

/// Half of them are hostile in what is sealed, half in the seal. The latter are checks: a write whose key has another
/// name would be a write still.
#[test]
fn half_a_million_sealed_datagrams_do_fuzzy_no_harm() {
    let folder = Folder::new();
    let siege = Siege::lay(&folder, "fuzzy");
    let seal = Seal::to(siege.serving.said["fuzzy_key"].as_str().expect("a key"));
    let (sound, mut number) = (captured(), 0);
    let checks = sound.iter().filter(|packet| packet[1] == CHECK);
    let sealed_checks: Vec<_> = checks.zip(0..).map(|(packet, number)| seal.close(number, packet)).collect();
    let question = seal.close(TAG, &command(PING, (0, 0), TAG, &[0; 64], None));
    let is_answer = |reply: &[u8]| seal.open(reply).is_some_and(|reply| is_answer(&reply));
    bombard(siege, &question, is_answer, |dice| {
        number += 1;
        match number % 2 {
            0 => dice.hostile(&sealed_checks),
            _ => seal.close(number, &dice.hostile_but(&sound, is_write)),
        }
    });
}
