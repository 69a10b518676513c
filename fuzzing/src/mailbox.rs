//! The laws of reading mailboxes, checked on whatever file the fuzzer comes up with.
//!
//! An mbox, packed or not, and archives: no message is longer than the limit, an mbox holds no more than its bytes, and
//! written again it is read as the same messages. What comes out is signed, and so are the messages that a complaint
//! carries.

use seenit_mailbox::{MESSAGE_BYTES_MAX, fuzzed};
use seenit_signature::complaint::{self, Complaint};
use seenit_signature::razor::Ep4;
use seenit_signature::sign;

/// What the file is called, which says how it is packed: chosen by the first byte.
const NAMES: [&str; 6] = ["m", "m.gz", "m.zst", "m.tar", "m.tar.gz", "m.tar.zst"];
/// The bit of the first byte that says whether the checksums of a tar file's headers are made anew.
const FIT_CHECKSUMS: u8 = 8;
/// What is signed of one file: the target `sign` does the rest, and packed files may hold a lot.
const SIGNED_BYTES_MAX: usize = 20_000;
/// What starts a message.
const START: &[u8] = b"From a@example.com Thu Jan  1 00:00:00 1970\n";

/// A block of a tar file, and where its size and its checksum are.
const TAR_BLOCK_BYTES: usize = 512;
const TAR_SIZE: std::ops::Range<usize> = 124..135;
const TAR_CHECKSUM: std::ops::Range<usize> = 148..156;

/// Takes the first byte for the name of a file and the rest for what is in it, and holds its messages against every
/// law. Gives back how many bytes that was, unpacked.
///
/// # Panics
/// When a law is broken.
pub fn check(input: &[u8]) -> usize {
    let Some((&mode, file)) = input.split_first() else { return 0 };
    let name = NAMES[usize::from(mode % FIT_CHECKSUMS) % NAMES.len()];
    let mut file = file.to_vec();
    if mode & FIT_CHECKSUMS != 0 {
        fit_checksums(&mut file);
    }
    let (mut bytes_read, mut bytes_signed) = (file.len(), 0);
    fuzzed::each_message(name, &file, |mail| {
        let Ok(mail) = mail else { return };
        assert!(mail.len() as u64 <= MESSAGE_BYTES_MAX, "a message of {} bytes", mail.len());
        bytes_read += mail.len();
        bytes_signed += mail.len();
        if bytes_signed <= SIGNED_BYTES_MAX {
            check_message(mail);
        }
    });
    if name == "m" {
        check_mbox(&file);
    }
    bytes_read
}

/// Signs a message, and those that it carries.
fn check_message(mail: &[u8]) {
    let ep4 = Ep4::default();
    sign(mail, &ep4);
    let complaint = Complaint::read(mail);
    assert!(complaint.messages.len() <= complaint::MESSAGES_MAX, "{} messages", complaint.messages.len());
    let carried: usize = complaint.messages.iter().map(|message| message.len()).sum();
    assert!(carried <= mail.len(), "{carried} bytes are carried by {}", mail.len());
    for message in &complaint.messages {
        sign(message, &ep4);
    }
}

/// Messages of a file that is not packed: no more than there is, and the same when they are written again.
fn check_mbox(file: &[u8]) {
    let messages = messages_of(file);
    let bytes: usize = messages.iter().map(Vec::len).sum();
    assert!(bytes <= file.len(), "{bytes} bytes out of {}", file.len());
    if file.starts_with(b"From ") {
        assert_eq!(messages_of(&mbox_of(&messages)), messages, "written again");
    } else {
        assert_eq!(messages, [file], "a file that is no mbox is one message");
    }
}

fn messages_of(file: &[u8]) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    fuzzed::each_message("m", file, |mail| messages.push(mail.expect("memory can be read").to_vec()));
    messages
}

/// The messages as an mbox. Lines of a body that look like a start, with any number of `>`, get one `>` more.
fn mbox_of(messages: &[Vec<u8>]) -> Vec<u8> {
    let mut mbox = Vec::new();
    for message in messages {
        mbox.extend_from_slice(START);
        let mut in_body = false;
        for line in message.split_inclusive(|&byte| byte == b'\n') {
            let marks = line.iter().take_while(|&&byte| byte == b'>').count();
            if in_body && line[marks..].starts_with(b"From ") {
                mbox.push(b'>');
            }
            mbox.extend_from_slice(line);
            in_body |= matches!(line, b"\n" | b"\r\n");
        }
    }
    mbox
}

/// Makes the checksum of every header fit: a wrong one would stop nearly every mutation.
fn fit_checksums(file: &mut [u8]) {
    let mut rest = file;
    while let Some((header, after)) = rest.split_at_mut_checked(TAR_BLOCK_BYTES) {
        header[TAR_CHECKSUM].fill(b' ');
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[TAR_CHECKSUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        let digits = header[TAR_SIZE].iter().take_while(|byte| (b'0'..=b'7').contains(byte));
        let bytes = digits.fold(0_usize, |bytes, digit| bytes * 8 + usize::from(digit - b'0'));
        let blocks = bytes.div_ceil(TAR_BLOCK_BYTES) * TAR_BLOCK_BYTES;
        rest = after.get_mut(blocks..).unwrap_or_default();
    }
}
