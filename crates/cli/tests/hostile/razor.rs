//! Razor under siege.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use crate::common::Folder;
use crate::conversation::{Conversation, Heard};
use crate::dice::Dice;
use crate::siege::Siege;

/// What clients send.
const SOUND: [&str; 12] = [
    "cn=razor-agents&cv=2.85\r\n",
    "a=g&pm=state\r\n",
    "a=g&pm=csl\r\n",
    "a=c&e=4&ep4=7542-10&s=7hcTQu8x8oL2qHid5AdMM9TYtjEA\r\n",
    "-a=c&e=4&ep4=7542-10&s=d2QHXneiBH6argNeI45q1w9AK3wA\r\na=c&e=8&s=jJw4hc5psXIA\r\n.\r\n",
    "-a=r&e=4&ep4=7542-10&s=d2QHXneiBH6argNeI45q1w9AK3wA\r\na=r&e=8&s=jJw4hc5psXIA\r\n.\r\n",
    "-a=revoke&e=4&s=d2QHXneiBH6argNeI45q1w9AK3wA\r\na=revoke&e=8&s=jJw4hc5psXIA\r\n.\r\n",
    "a=revoke&e=8&s=jJw4hc5psXIA\r\n",
    "a=reg&pass=s3cr%3Dt%20%26p&registrar=Razor-Agents%20v2.84&user=alice%40example.com\r\n",
    "a=ai&cn=razor-agents&cv=2.84&user=alice%40example.com\r\n",
    "a=auth&aresp=qWPs-Ib_3srDbSm8cWCEZ6YHlhwA\r\n",
    "-a=r&message=*\r\nFrom: a\n\r\nX: y\n\nz\n\r\n.\r\n",
];

/// How clients begin. Whoever begins otherwise is hung up on.
const HELLO: &str = "cn=razor-agents&cv=2.85\r\n";

/// Becomes somebody who may report, and send whole mails.
const LOGIN: &str =
    "a=ai&cn=razor-agents&cv=2.84&user=alice\r\na=auth&aresp=qWPs-Ib_3srDbSm8cWCEZ6YHlhwA\r\n";

/// Ends whatever was begun, and asks something.
const QUESTION: &str = "\r\n.\r\na=g&pm=nsl\r\n";

/// Only the answer to the question has this: a list of servers for reports.
const ANSWER: &str = "-nsl=";

/// Requests in one connection, if it lasts: as many answers fit into the buffers of both sides.
const REQUESTS_MAX: u32 = 200;

/// Far longer than an answer takes.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// With an answer to the question.
    Answered,
    /// The server can read no more of it.
    HungUpByServer,
    /// In the midst of a request: its end would make it a sound write.
    HungUpByUs,
}

/// Composes what one connection sends.
fn composed(siege: &mut Siege<'_>, dice: &mut Dice) -> (Vec<u8>, End) {
    let (mut server, mut bytes) = (Conversation::default(), Vec::new());
    if dice.below(8) > 0 {
        assert_eq!(server.hear(HELLO.as_bytes()), Heard::More);
        bytes.extend_from_slice(HELLO.as_bytes());
    }
    if !bytes.is_empty() && dice.below(2) == 0 {
        assert_eq!(server.hear(LOGIN.as_bytes()), Heard::More);
        bytes.extend_from_slice(LOGIN.as_bytes());
    }
    for _ in 0..REQUESTS_MAX {
        let (hostile, mut after) = (dice.hostile(&SOUND), server.clone());
        match after.hear(&hostile) {
            Heard::Write => continue,
            heard => {
                bytes.extend_from_slice(&hostile);
                siege.count();
                if heard == Heard::End {
                    return (bytes, End::HungUpByServer);
                }
                server = after;
            }
        }
    }
    match server.hear(QUESTION.as_bytes()) {
        Heard::Write => (bytes, End::HungUpByUs),
        heard => {
            bytes.extend_from_slice(QUESTION.as_bytes());
            (bytes, if heard == Heard::More { End::Answered } else { End::HungUpByServer })
        }
    }
}

/// Sends it, and says everything that was answered until the end, which must come.
fn converse(address: SocketAddr, bytes: &[u8], end: End) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.set_read_timeout(Some(ANSWER_WITHIN)).expect("a timeout");
    let (mut heard, mut buffer) = (Vec::new(), [0; 4096]);
    // Whoever hangs up early does not take everything.
    let sent = stream.write_all(bytes);
    assert!(sent.is_ok() || end == End::HungUpByServer, "{sent:?}");
    if end == End::HungUpByUs {
        stream.shutdown(Shutdown::Write).expect("it is open");
    }
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return heard,
            Ok(length) => heard.extend_from_slice(&buffer[..length]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return heard,
            Err(error) => panic!("{error}, {end:?}: {}", String::from_utf8_lossy(&heard)),
        }
        if end == End::Answered && heard.windows(ANSWER.len()).any(|bytes| bytes == ANSWER.as_bytes()) {
            return heard;
        }
    }
}

#[test]
fn a_password_too_long_to_be_said_again_is_refused_and_the_connection_goes_on() {
    let folder = Folder::new();
    let siege = Siege::lay(&folder, "razor");
    // Every byte of it is three in an answer.
    let question = b"\r\na=g&pm=nsl\r\n";
    let register = [HELLO.as_bytes(), b"a=reg&user=alice&pass=", &[0xff; 500], question].concat();
    let heard = converse(siege.address(), &register, End::Answered);
    let heard = String::from_utf8_lossy(&heard);
    let refused = heard.lines().nth(1).expect("a line after the greeting");
    assert!(refused.starts_with("err=") && heard.contains(ANSWER), "{heard}");
    siege.serving.stop();
}

#[test]
fn half_a_million_requests_do_razor_no_harm() {
    let folder = Folder::new();
    let mut siege = Siege::lay(&folder, "razor");
    let mut dice = Dice(7);
    while siege.goes_on() {
        let (bytes, end) = composed(&mut siege, &mut dice);
        let heard = converse(siege.address(), &bytes, end);
        let heard = String::from_utf8_lossy(&heard);
        assert!(heard.contains(ANSWER) || end != End::Answered, "{end:?} after {:?}: {heard}", siege.sent());
    }
    siege.lift();
}
