//! Mail made of pieces that each mean something to some stage of the client, put together at random.

/// What bodies are made of: links, tags, entities, encodings, and what looks like them.
const WORDS: [&[u8]; 88] = [
    b"hello",
    b"world",
    b"cheap",
    b"pills",
    b"0",
    b"Content-Type: x",
    b"Content-Foo:",
    b"www.Foo-bar.com",
    b"WWW.x.org/y",
    b"http://a.b.example.com/x?y",
    b"https://user@shop.example.co.uk:80/",
    b"HTTP://Z.com",
    b"http://192.0.2.7/",
    b"http:/x.net",
    b"http://",
    b"http://http://q.de/",
    b"a href = http://r.fr",
    b"<a href=\"http://www.t.it/?x=1\">",
    b"<A HREF='http://u.nl'>",
    b"<a href=http://v.se>",
    b"href=",
    b"=",
    b"==",
    b"x=y",
    b"@",
    b":",
    b"?",
    b"%41",
    b"%2e",
    b"%zz",
    b"&#65;",
    b"&#046;",
    b"&#0065;",
    b"&amp;",
    b"&lt",
    b"&nbsp;",
    b"&eacute;",
    b"&bogus;",
    b"&#150;",
    b"\xe9",
    b"\xa0",
    b"\x85",
    b"\0",
    b"\x0b",
    b"\x0c",
    b"\r",
    b"<b>",
    b"</B>",
    b"<br>",
    b"<!-- c -->",
    b"<!-- a -- b -->",
    b"<!-",
    b"<!doctype html>",
    b"<foo>",
    b"<img src=\"x>y\">",
    b"<'",
    b"\"",
    b"'",
    b"-",
    b"--",
    b"<",
    b">",
    b"< i >",
    b"From me",
    b">From you",
    b"Content-Transfer-Encoding: base64",
    b"content-transfer-encoding: quoted-printable",
    b"=41",
    b"=\n",
    b"=\r\n",
    b"=3D",
    b"edu.au",
    b"http://x.edu.au",
    b"http://foo.com..",
    b"http://.com/",
    b"http://a..b.com/",
    b"http://com/",
    b"http://q=w=e.com/",
    b"http://x=y z.com/",
    b"http://a\nb.com/",
    b"www..",
    b"www",
    b" www.a b",
    b"\twww.c\twww.d",
    b"'http://w.com'",
    b"--q",
    b"--q--",
    b"Content: x\nContent: y",
];

const GAPS: [&[u8]; 10] = [b" ", b" ", b"\n", b"\n", b"\r\n", b"\n\n", b"\t", b"", b"\r\r\n", b"\n \n"];

const HEADER_LINES: [&[u8]; 8] = [
    b"Subject: x",
    b"X-Razor2-Foo: y",
    b"Content-Disposition: inline",
    b"content-id: <abc@def>",
    b"From: a@b",
    b"Content-Foo: bar\n\tbaz",
    b"Received: x\n  y",
    b"X: y",
];

const BOUNDARIES: [&str; 4] = ["q", "q1", "--=_x.y+z", "a b"];

/// A file with one mail or more.
pub(crate) fn odd_mail(seed: u64) -> Vec<u8> {
    let mut dice = Dice(seed);
    let mail = entity(&mut dice, 0);
    if dice.one_in(2) { [b"From x\n", &mail[..]].concat() } else { [b"A: b\n", &mail[..]].concat() }
}

fn entity(dice: &mut Dice, depth: usize) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = (0..dice.below(4)).map(|_| dice.pick(&HEADER_LINES).to_vec()).collect();
    if dice.one_in(20) {
        // Around the length at which headers are cut.
        lines.push([b"Content-Long: ", &b"x".repeat(3940 + dice.below(120))[..]].concat());
    }
    let is_multipart = if depth < 3 { dice.one_in(2) } else { dice.one_in(20) };
    let (content_type, body) = if is_multipart { multipart(dice, depth) } else { leaf(dice, &mut lines) };
    let at = if dice.one_in(5) { lines.len() } else { 0 };
    lines.insert(at, content_type);
    let mut text = lines.join(&b"\n"[..]);
    text.push(b'\n');
    if !dice.one_in(20) {
        text.push(b'\n');
    }
    text.extend_from_slice(&body);
    if dice.one_in(3) { with_returns(&text) } else { text }
}

fn multipart(dice: &mut Dice, depth: usize) -> (Vec<u8>, Vec<u8>) {
    let boundary = *dice.pick(&BOUNDARIES);
    let space = *dice.pick(&[" ", " ", "\n "]);
    let name = *dice.pick(&["boundary=", "x=y; boundary=", "boundary=\"zz\"; Boundary="]);
    let value = *dice.pick(&["B", "\"B\"", "\"B\";c", "B;", "\"B"]);
    let content_type = format!("Content-Type: multipart/mixed;{space}{name}{}", value.replace('B', boundary));
    let mut body = dice.pick(&[&b""[..], b"preamble\n", b"\n"]).to_vec();
    for _ in 0..dice.below(4) {
        body.extend_from_slice(format!("\n--{boundary}{}\n", dice.pick(&["", "", "", "\r", " "])).as_bytes());
        body.extend(entity(dice, depth + 1));
    }
    if !dice.one_in(5) {
        body.extend_from_slice(format!("\n--{boundary}--{}", dice.pick(&["", "\nepilogue"])).as_bytes());
    }
    if dice.one_in(2) && body.first() == Some(&b'\n') {
        body.remove(0);
    }
    (content_type.into_bytes(), body)
}

fn leaf(dice: &mut Dice, lines: &mut Vec<Vec<u8>>) -> (Vec<u8>, Vec<u8>) {
    let mut body = leaf_text(dice);
    if dice.one_in(5) {
        lines.push(b"Content-Transfer-Encoding: base64".to_vec());
        body = base64(&body);
        body.truncate(if dice.one_in(3) { dice.below(body.len() + 1) } else { body.len() });
    } else if dice.one_in(5) {
        lines.push(b"content-transfer-encoding: Quoted-Printable".to_vec());
    }
    (
        dice.pick(&[&b"Content-Type: text/plain"[..], b"content-type: text/html", b"X-Type: none"]).to_vec(),
        body,
    )
}

fn leaf_text(dice: &mut Dice) -> Vec<u8> {
    match dice.below(10) {
        0 => dice.pick(&[&b""[..], b"0", b"0\n", b"\n", b" ", b"\n\n\n", b" \n"]).to_vec(),
        1 => letters(dice, b"abcdef ghij klm 0\n"),
        2 => letters(dice, b" \t\n"),
        _ => {
            let words_max = *dice.pick(&[60, 60, 300]);
            (0..dice.below(words_max)).flat_map(|_| [word(dice), *dice.pick(&GAPS)].concat()).collect()
        }
    }
}

/// One in three is a plain one.
fn word(dice: &mut Dice) -> &'static [u8] {
    let words = if dice.one_in(3) { 4 } else { WORDS.len() };
    WORDS[dice.below(words)]
}

fn letters(dice: &mut Dice, alphabet: &[u8]) -> Vec<u8> {
    // Some are longer than the client looks.
    let len = if dice.one_in(10) { 61_000 + dice.below(900) } else { dice.below(3000) };
    (0..len).map(|_| *dice.pick(alphabet)).collect()
}

fn with_returns(text: &[u8]) -> Vec<u8> {
    text.iter()
        .flat_map(|&byte| if byte == b'\n' { &b"\r\n"[..] } else { std::slice::from_ref(&byte) }.to_vec())
        .collect()
}

/// Base64 in lines of 76 characters.
fn base64(text: &[u8]) -> Vec<u8> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = Vec::new();
    for (number, three) in text.chunks(3).enumerate() {
        let bits =
            three.iter().fold(0, |bits, &byte| bits << 8 | usize::from(byte)) << (8 * (3 - three.len()));
        let digits = [18, 12, 6, 0].map(|shift| ALPHABET[bits >> shift & 63]);
        encoded.extend_from_slice(&digits[..three.len() + 1]);
        encoded.extend_from_slice(&b"=="[..3 - three.len()]);
        if number % 19 == 18 {
            encoded.push(b'\n');
        }
    }
    encoded
}

/// Random numbers from a seed (SplitMix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}
