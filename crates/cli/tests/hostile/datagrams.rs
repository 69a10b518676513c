//! A siege by datagrams.

use std::net::UdpSocket;
use std::time::Duration;

use crate::dice::Dice;
use crate::siege::Siege;

/// After so many the site is asked something it must answer: else most datagrams would be lost before they are read.
const BETWEEN_QUESTIONS: u32 = 64;

/// A question may be lost beside so many others; not all of these.
const TRIES: u32 = 50;

/// Sends hostile datagrams, and now and then the question.
pub(crate) fn bombard(
    mut siege: Siege<'_>,
    question: &[u8],
    is_answer: impl Fn(&[u8]) -> bool,
    mut hostile: impl FnMut(&mut Dice) -> Vec<u8>,
) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.connect(siege.address()).expect("connected");
    socket.set_read_timeout(Some(Duration::from_millis(200))).expect("a timeout");
    let mut dice = Dice(7);
    while siege.goes_on() {
        // What the network refuses to carry cannot harm anybody.
        let _ = socket.send(&hostile(&mut dice));
        siege.count();
        if siege.sent().is_multiple_of(BETWEEN_QUESTIONS) {
            let is_answered = is_answered(&socket, question, &is_answer);
            assert!(is_answered, "no answer after {} datagrams", siege.sent());
        }
    }
    siege.lift();
}

/// Asks until there is the answer.
fn is_answered(socket: &UdpSocket, question: &[u8], is_answer: impl Fn(&[u8]) -> bool) -> bool {
    let mut answer = [0; 2048];
    (0..TRIES).any(|_| {
        socket.send(question).expect("sent");
        // Answers to others may come first.
        (0..BETWEEN_QUESTIONS)
            .any(|_| socket.recv(&mut answer).is_ok_and(|length| is_answer(&answer[..length])))
    })
}
