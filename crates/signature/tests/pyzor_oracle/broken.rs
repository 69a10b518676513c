//! Messages that are broken by chance, the same in every run.

use std::fs;
use std::path::PathBuf;

/// A small generator of numbers, the same in every run (SplitMix64).
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % limit.max(1) as u64) as usize
    }

    fn one_of<'t, T: ?Sized>(&mut self, items: &[&'t T]) -> &'t T {
        items[self.below(items.len())]
    }
}

/// A message of the corpus, changed in one to eight places.
pub(crate) fn mutant(files: &[PathBuf], chance: &mut Chance) -> Vec<u8> {
    let read =
        |chance: &mut Chance| fs::read(&files[chance.below(files.len())]).expect("a message can be read");
    let mut mail = read(chance);
    for _ in 0..=chance.below(8) {
        let other = read(chance);
        change(&mut mail, &other, chance);
    }
    mail
}

/// A place to change: half the time where the structure is, in headers and at boundaries.
fn place(mail: &[u8], chance: &mut Chance) -> usize {
    let anchors: [&[u8]; 8] =
        [b"ontent-Type", b"ransfer-Encoding", b"oundary=", b"\n--", b"charset", b"<", b"&", b"\n\n"];
    let anchor = chance.one_of(&anchors);
    let start = chance.below(mail.len());
    let found = mail[start..].windows(anchor.len()).position(|window| window == anchor);
    match found {
        Some(at) if chance.below(2) == 0 => (start + at + chance.below(40)).min(mail.len()),
        _ => start,
    }
}

fn change(mail: &mut Vec<u8>, other: &[u8], chance: &mut Chance) {
    let at = place(mail, chance);
    let insertions: [&[u8]; 40] = [
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b" ",
        b"\t",
        b";",
        b"\"",
        b"'",
        b"=",
        b"--",
        b"<",
        b">",
        b"&",
        b"&#",
        b"\0",
        b"\xe9",
        b"\xc2\xa0",
        b"\x0b",
        b"\n--",
        b"<![if x]>",
        b"<![foo[",
        b"<script>",
        b"</style>",
        b"<a b='",
        b"/>",
        b"<!--",
        b"]]>",
        b"\nFrom x\n",
        b"\n:x\n",
        b"\n\nContent-Type: message/rfc822\n\n",
        b"\nContent-Type: message/delivery-status\n\n",
        b"\nContent-Transfer-Encoding: uuencode\n",
        b"\nContent-Type: text/html; charset*0=utf-; charset*1=8\n",
        b"\nContent-Transfer-Encoding: base64\n",
        b"; boundary*=''x%41",
        b"\nContent-Type: multipart/digest; boundary=\"x\"\n\n--x\n\n",
        b"\n--x--\n",
        b"&nbsp",
        b"\nContent-Type: text/plain; charset=gb2312\n",
    ];
    match chance.below(7) {
        0 => mail.truncate(at),
        1 if at < mail.len() => mail[at] = chance.below(256) as u8,
        2 if at < mail.len() => mail[at] ^= 1 << chance.below(8),
        3 => {
            let end = (at + chance.below(60)).min(mail.len());
            mail.drain(at..end);
        }
        4 => {
            let from = place(other, chance);
            mail.truncate(at);
            mail.extend_from_slice(&other[from..]);
        }
        _ => {
            let insertion = chance.one_of(&insertions);
            mail.splice(at..at, insertion.iter().copied());
        }
    }
}

/// Lines of headers that decide how a part is read.
const HEADERS: [&[u8]; 34] = [
    b"Content-Type: text/html",
    b"Content-Type: text/plain",
    b"Content-type:text/html;\n ",
    b"Content-Type: TEXT/x",
    b"Content-Type: application/x",
    b"Content-Type: multipart/mixed; boundary=b",
    b"Content-Type: multipart/mixed; boundary=\"c d\"",
    b"Content-Type: multipart/digest; boundary=<b>",
    b"Content-Type: multipart/x; boundary*0=\"b\"; boundary*1*=%41",
    b"Content-Type: multipart/x; boundary*=''b%20",
    b"Content-Type: multipart/x",
    b"Content-Type: multipart/x; boundary=\"\"",
    b"Content-Type: message/rfc822",
    b"Content-Type: message/delivery-status",
    b"Content-Type: message/partial",
    b"Content-Type: x",
    b"Content-Type:",
    b"Content-Type: a/b/c",
    b"Content-Type: \xe9/x",
    b"Content-Transfer-Encoding: base64",
    b"Content-Transfer-Encoding: BASE64",
    b"Content-Transfer-Encoding: base64 ",
    b"Content-Transfer-Encoding:quoted-printable",
    b"Content-Transfer-Encoding: x-uuencode",
    b"Content-Transfer-Encoding: 7bit",
    b"Subject: x",
    b"From x",
    b"From : x",
    b" folded",
    b"\tboundary=b",
    b":x",
    b"no header",
    b"X\xe9: y",
    b"charset=utf-8/x",
];

/// Ends of headers.
const PARAMETERS: [&[u8]; 30] = [
    b"",
    b"",
    b"",
    b"",
    b"; charset=utf-8",
    b"; charset=\"iso-8859-1\"",
    b"; charset=windows-1252",
    b"; charset=gb2312",
    b"; charset=big5",
    b"; charset=euc-kr",
    b"; charset=shift_jis",
    b"; charset=iso-2022-jp",
    b"; charset=utf-7",
    b"; charset=utf-16",
    b"; charset=gbk",
    b"; charset=gb18030",
    b"; charset=euc-jp",
    b"; charset=ks_c_5601-1987",
    b"; charset=hz-gb-2312",
    b"; charset=cp949",
    b"; charset=koi8-r",
    b"; charset*=us-ascii'en'utf%2d8",
    b"; charset*0=utf; charset*1=-8",
    b"; charset*0=a; charset*=b",
    b"; charset=\"a\\\"b;c\"; charset=latin1",
    b"; x=\"; charset=utf-8",
    b";charset = ' utf-8 '",
    b"; charset=x\0y",
    b"; Charset=utf_32_be",
    b"; charset=utf-8; boundary=b",
];

/// Pieces of bodies that one of the parsers takes notice of.
const PIECES: [&[u8]; 94] = [
    b"\n",
    b"\n",
    b"\n",
    b"\r\n",
    b"\r",
    b"\n\n",
    b"\r\n\r\n",
    b" ",
    b"\t",
    b"\x0b",
    b"\x1c",
    b"\xc2\x85",
    b"\xe2\x80\xa8",
    b"\xc2\xa0",
    b"\xe3\x80\x80",
    b"\n--b\n",
    b"\n--b--\n",
    b"\n--c d \n",
    b"\n--c d--\t\r\n",
    b"\n--bA\n",
    b"\n--\n",
    b"\n----\n",
    b"--b",
    b"\n--b\r",
    b"From ",
    b"abcd",
    b"efgh ijkl",
    b"1234567890",
    b"a@b",
    b"@x",
    b"x:y",
    b"1:2",
    b"http://",
    b"\xc4\xb0:x",
    b"\xe9",
    b"\xc3\xa9",
    b"\xf0\x9f\x98\x80",
    b"\xed\xa0\x80",
    b"\xd6\xd0",
    b"\xb9\xfa",
    b"\xa4\x40",
    b"\xa4\xd5",
    b"\x81\x30\x81\x30",
    b"\x8f\xb0\xa1",
    b"\x8e\xb1",
    b"\x82\xa0",
    b"\xff",
    b"\x80",
    b"\x1b$B$\"\x1b(B",
    b"\x1b(I",
    b"\x1b$)C",
    b"\x0e0!\x0f",
    b"~{VP~}",
    b"~~",
    b"+AOk-",
    b"+2D3eAA",
    b"+AO",
    b"=20",
    b"=\n",
    b"=\r\n",
    b"=3D",
    b"==",
    b"=E9",
    b"=C3=A9",
    b"=",
    b"YWJjZCBlZmdo",
    b"IGlqa2w=",
    b"YQ==",
    b"begin 644 x\n",
    b"#86)C\n",
    b"`\nend\n",
    b"<b>",
    b"</b>",
    b"<br/>",
    b"<script>",
    b"</script>",
    b"<style a=b>",
    b"</STYLE >",
    b"<a b='",
    b"<a b= \"x\" ",
    b"'",
    b"\"",
    b">",
    b"/>",
    b"<!-- ",
    b" -- >",
    b"<!doctype ",
    b"<![if x",
    b"]>",
    b"<![CDATA[",
    b"]]>",
    b"&amp",
    b"&#x41;",
    b"<\xc5\xbf",
];

/// A message of one to three heads and bodies.
pub(crate) fn made_up(chance: &mut Chance) -> Vec<u8> {
    let mut mail = Vec::new();
    for _ in 0..=chance.below(3) {
        for _ in 0..=chance.below(3) {
            mail.extend_from_slice(chance.one_of(&HEADERS));
            mail.extend_from_slice(chance.one_of(&PARAMETERS));
            mail.extend_from_slice(chance.one_of(&[b"\n".as_slice(), b"\n", b"\r\n", b"\r"]));
        }
        mail.extend_from_slice(chance.one_of(&[b"\n".as_slice(), b"\n", b"\r\n", b"\r", b""]));
        for _ in 0..chance.below(60) {
            mail.extend_from_slice(chance.one_of(&PIECES));
            if chance.below(3) == 0 {
                mail.extend_from_slice(b" word and");
            }
        }
    }
    mail
}
