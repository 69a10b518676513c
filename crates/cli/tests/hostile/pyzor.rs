//! Pyzor under siege.

use seenit_wire::pyzor::{Op, Request};

use crate::common::Folder;
use crate::datagrams::bombard;
use crate::siege::Siege;

const DIGEST: &str = "4502e099be0ee6ecd6bfef672e964a98d315194f";

/// A request as Pyzor's clients send it.
fn request(op: &str, thread: u16, user: &str) -> Vec<u8> {
    let asked = format!("Op: {op}\nOp-Digest: {DIGEST}\nThread: {thread}\nPV: 2.1\n");
    format!("{asked}User: {user}\nTime: 1790000000\nSig: {DIGEST}\n\n").into_bytes()
}

fn is_write(datagram: &[u8]) -> bool {
    Request::decode(datagram).is_ok_and(|request| matches!(request.op, Op::Report | Op::Whitelist))
}

#[test]
fn half_a_million_datagrams_do_pyzor_no_harm() {
    let folder = Folder::new();
    let siege = Siege::lay(&folder, "pyzor");
    let sound = [
        request("check", 4242, "anonymous"),
        request("report", 4243, "anonymous"),
        request("whitelist", 4244, "anonymous"),
        request("info", 777, "alice"),
    ];
    let question = b"Op: ping\nThread: 4321\nPV: 2.1\nUser: anonymous\nTime: 1790000000\nSig: 00\n\n";
    let begins = b"Code: 200\nDiag: OK\nPV: 2.1\nThread: 4321";
    bombard(siege, question, |answer| answer.starts_with(begins), |dice| dice.hostile_but(&sound, is_write));
}
