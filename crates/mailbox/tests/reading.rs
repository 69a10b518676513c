//! Messages are found wherever mail lies, in a fixed order, and what cannot be read is named.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use seenit_mailbox::{Corpus, Label, MESSAGE_BYTES_MAX, MailError, Mailbox};

/// An archive with these files.
fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        builder.append_data(&mut header, name, *bytes).expect("written");
    }
    builder.into_inner().expect("written")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("written");
    encoder.finish().expect("written")
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(&path, bytes).expect("written");
    path
}

/// Names (below the folder) and texts of all messages below some paths.
fn messages(folder: &Path, paths: &[PathBuf]) -> Result<Vec<(String, String)>, MailError> {
    let mut found = Vec::new();
    let start = format!("{}/", folder.display());
    Mailbox::find(paths)?.each_message(&mut |name, bytes| {
        found.push((name.replace(&start, ""), String::from_utf8_lossy(bytes).into_owned()));
        Ok::<(), MailError>(())
    })?;
    Ok(found)
}

#[test]
fn messages_are_found_wherever_mail_lies() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write(folder, "b/Maildir/cur/1:2,S", b"Subject: seen\n\n");
    write(folder, "b/Maildir/new/2", b"Subject: new\n\n");
    write(folder, "b/Maildir/tmp/3", b"half a mess");
    write(folder, "b/Maildir/dovecot.index", b"not mail");
    write(folder, "b/.hidden", b"not mail");
    write(folder, "a.eml", b"Subject: one\n\nFrom here on\n");
    write(
        folder,
        "c.mbox",
        b"From a@b Thu Jan  1 00:00:00 1970\nSubject: x\n\none\n\nFrom c@d Thu Jan  1 00:00:01 1970\n\ntwo\n",
    );
    write(folder, "c.mbox.gz", &gzip(b"packed alone"));
    write(folder, "d.tar", &tar(&[("in/one", b"plain")]));
    write(folder, "e.tar.gz", &gzip(&tar(&[("one", b"gzip")])));
    write(folder, "f.tar.zst", &zstd(&tar(&[("two", b"zstd"), ("one", b"in its order")])));
    let found = messages(folder, &[folder.to_owned()]).expect("readable");
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "a.eml",
        "b/Maildir/cur/1:2,S",
        "b/Maildir/new/2",
        "c.mbox",
        "c.mbox#2",
        "c.mbox.gz",
        "d.tar/in/one",
        "e.tar.gz/one",
        "f.tar.zst/two",
        "f.tar.zst/one",
    ];
    assert_eq!(names, expected);
    assert_eq!(found[0].1, "Subject: one\n\nFrom here on\n");
    assert!(found[3].1.starts_with("Subject: x\n\none"), "{found:?}");
    assert!(found[4].1.contains("two"), "{found:?}");
    assert_eq!([&found[5].1, &found[7].1, &found[8].1], ["packed alone", "gzip", "zstd"]);
}

#[test]
fn what_is_read_adds_up_to_what_was_found() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "a.eml", &[b'x'; 70_000]);
    write(folder.path(), "b.tar.gz", &gzip(&tar(&[("one", &[b'y'; 5_000])])));
    let read = AtomicU64::new(0);
    let watch = |bytes| {
        read.fetch_add(bytes, Ordering::Relaxed);
    };
    let mailbox = Mailbox::find(&[folder.path().to_owned()]).expect("found");
    let bytes = mailbox.bytes();
    mailbox.watched(&watch).each_message(&mut |_, _| Ok::<(), MailError>(())).expect("readable");
    assert_eq!(read.into_inner(), bytes);
}

#[test]
fn what_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let error = |paths: &[PathBuf]| messages(folder, paths).expect_err("nothing to read").to_string();
    assert!(error(&["no/such/file".into()]).contains("no/such/file"));
    let damaged = write(folder, "mail.tar.zst", b"no archive at all");
    assert!(error(&[damaged]).contains("mail.tar.zst"));
    let whole = gzip(&tar(&[("one", &[b'y'; 50_000])]));
    let cut = write(folder, "cut.tar.gz", &whole[..whole.len() / 2]);
    assert!(error(&[cut]).contains("cut.tar.gz"));
}

#[test]
fn a_corpus_is_read_unpacked_and_packed() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write(folder, "index.tsv", b"path\tlabel\nbox/one\tham\npacked/two\tspam\n");
    write(folder, "box/one", b"From me\nSubject: good\n\n");
    let error = Corpus::read(folder).expect_err("not all there").to_string();
    assert!(error.contains("line 3") && error.contains("packed/two"), "{error}");
    write(folder, "mail.tar.zst", &zstd(&tar(&[("packed/two", b"bad"), ("packed/three", b"not listed")])));
    let corpus = Corpus::read(folder).expect("readable");
    let labels: Vec<Label> = corpus.messages.iter().map(|message| message.label).collect();
    assert_eq!(labels, [Label::Ham, Label::Spam]);
    assert_eq!(corpus.messages[0].bytes, b"From me\nSubject: good\n\n", "one file is one message");
    assert_eq!(
        (corpus.messages[1].path.as_str(), &corpus.messages[1].bytes[..]),
        ("packed/two", &b"bad"[..])
    );
    write(folder, "index.tsv", b"path\tlabel\nbox/one\teggs\n");
    let error = Corpus::read(folder).expect_err("eggs").to_string();
    assert!(error.contains("line 2") && error.contains("eggs"), "{error}");
}

/// Texts of all messages of one file of these bytes.
fn texts(name: &str, bytes: &[u8]) -> Result<Vec<String>, MailError> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = write(folder.path(), name, bytes);
    Ok(messages(folder.path(), &[path])?.into_iter().map(|(_, text)| text).collect())
}

#[test]
fn zstd_frames_behind_the_first_are_not_lost() {
    let whole = tar(&[("one", &[b'1'; 3_000]), ("two", b"2")]);
    let (start, end) = whole.split_at(1_000);
    let frames = [zstd(start), zstd(end)].concat();
    let expected = ["1".repeat(3_000), "2".to_owned()];
    assert_eq!(texts("two.tar.zst", &frames).expect("readable"), expected);
    let skippable = [&0x184D_2A53_u32.to_le_bytes()[..], &4_u32.to_le_bytes(), b"skip"].concat();
    let with_skippable = [&skippable[..], &zstd(start), &skippable, &zstd(end), &skippable].concat();
    assert_eq!(texts("skip.tar.zst", &with_skippable).expect("readable"), expected);
    let two_archives = [zstd(&whole), zstd(&tar(&[("three", b"3")]))].concat();
    assert_eq!(texts("cat.tar.zst", &two_archives).expect("readable")[2..], ["3"]);
    for wrong in [&b"garbage"[..], b"x", &skippable[..10], b"\0\0\0\0\0\0\0\0"] {
        let error = texts("wrong.tar.zst", &[&frames, wrong].concat()).expect_err("garbage").to_string();
        assert!(error.contains("wrong.tar.zst"), "{error}");
    }
    assert!(texts("empty.tar.zst", b"").is_err(), "no frame at all");
}

#[test]
fn a_line_of_an_mbox_cannot_take_all_memory() {
    let mut mbox = b"From a@b Thu Jan  1 00:00:00 1970\n\n".to_vec();
    mbox.resize(mbox.len() + MESSAGE_BYTES_MAX as usize, b'x');
    let error = texts("large.tar.gz", &gzip(&tar(&[("mbox", &mbox)]))).expect_err("too large").to_string();
    assert!(error.contains("large.tar.gz/mbox") && error.contains("128 MiB"), "{error}");
    // The largest message that fits, and one behind it.
    mbox.pop();
    mbox.pop();
    mbox.extend_from_slice(b"\n\nFrom a@b Thu Jan  1 00:00:00 1970\n\ntwo\n");
    assert!(texts("mbox", &mbox).is_err(), "one byte too many");
    mbox.remove(40);
    let found = texts("mbox", &mbox).expect("it fits");
    assert_eq!((found.len(), found[0].len() as u64), (2, MESSAGE_BYTES_MAX));
}

#[test]
fn a_long_name_in_an_archive_cannot_take_all_memory() {
    // Behind a large file: what that may take does not pass over to the name.
    let large = tar(&[("large", &[b'y'; 4 << 20])]);
    let archive = |bytes: usize| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::GNULongName);
        header.set_size(bytes as u64);
        header.set_cksum();
        let name = vec![b'n'; bytes.next_multiple_of(512)];
        [&large[..512 + (4 << 20)], header.as_bytes(), &name, &tar(&[("short", b"text")])].concat()
    };
    assert_eq!(texts("names.tar", &archive(3_000)).expect("readable")[1], "text");
    let error = texts("names.tar", &archive(3 << 20)).expect_err("a name of 3 MiB").to_string();
    assert!(error.contains("names.tar") && error.contains("2 MiB"), "{error}");
}

#[test]
fn one_message_does_not_become_two() {
    let start = "From a@b Thu Jan  1 00:00:00 1970\n";
    let first =
        "Subject: x\n>From uucp\n\nFrom here on\n\nFrom now on\nFrom a@b Thu Jan  1 00:00:00 1970\n\n";
    let second = "Subject: y\r\n\r\n>From me\r\n>>From you\r\n> From them\r\n";
    let unquoted = "Subject: y\r\n\r\nFrom me\r\n>From you\r\n> From them\r\n";
    let found = texts("mbox", format!("{start}{first}{start}{second}").as_bytes()).expect("readable");
    assert_eq!(found, [first, unquoted]);
    let alone = texts("mbox", format!("From me\n{second}").as_bytes()).expect("readable");
    assert_eq!(alone, [unquoted]);
    assert_eq!(texts("mbox", b"From ").expect("readable"), [""]);
}

#[test]
fn every_file_of_the_corpus_is_one_message() {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let folder = std::env::var_os("SEENIT_CORPUS").map_or_else(beside, PathBuf::from);
    if !folder.is_dir() {
        println!("skipped: there is no shared corpus beside the checkout, and SEENIT_CORPUS is not set");
        return;
    }
    let mailbox = Mailbox::find(&[folder]).expect("found");
    let (mut files, mut messages) = (Vec::new(), Vec::new());
    let mut file = |name: &str, _: &mut dyn Read| {
        files.push(name.to_owned());
        Ok::<(), MailError>(())
    };
    mailbox.each_file(&mut file).expect("readable");
    let mut message = |name: &str, _: &[u8]| {
        messages.push(name.to_owned());
        Ok::<(), MailError>(())
    };
    mailbox.each_message(&mut message).expect("readable");
    let split = messages.iter().find(|name| name.ends_with("#2"));
    assert_eq!(files.len(), messages.len(), "{split:?} is no message of its own");
}

#[test]
#[cfg(unix)]
fn what_is_no_file_does_not_stop_a_walk() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write(folder, "mail/a.eml", b"one");
    write(folder, "mail/z/b.eml", b"two");
    symlink("nowhere", folder.join("mail/dangling")).expect("a link");
    symlink("itself", folder.join("mail/itself")).expect("a link");
    symlink("..", folder.join("mail/z/up")).expect("a link");
    symlink("../a.eml", folder.join("mail/z/c.eml")).expect("a link");
    let _socket = std::os::unix::net::UnixListener::bind(folder.join("mail/socket")).expect("a socket");
    let made = Command::new("mkfifo").arg(folder.join("mail/pipe")).status();
    if !made.is_ok_and(|status| status.success()) {
        println!("skipped: no mkfifo here, so there is no pipe in the folder");
    }
    let mailbox = Mailbox::find(&[folder.join("mail")]).expect("found");
    let mut found = Vec::new();
    mailbox
        .each_message(&mut |_, bytes| {
            found.push(bytes.to_vec());
            Ok::<(), MailError>(())
        })
        .expect("readable");
    assert_eq!(found, [&b"one"[..], b"two", b"one"]);
    let skipped = mailbox.skipped().expect("some");
    let expected =
        ["mail/dangling", "mail/itself", "mail/z/up"].map(|name| folder.join(name).display().to_string());
    assert_eq!((skipped.files, &skipped.names[..]), (3, &expected[..]));
    // What is named must be there.
    assert!(messages(folder, &[folder.join("mail/dangling")]).is_err());
    assert!(messages(folder, &[folder.join("mail/itself")]).is_err());
}

#[test]
fn a_file_that_vanished_does_not_stop_a_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let paths: Vec<PathBuf> =
        (0..9).map(|number| write(folder, &format!("cur/{number}:2,"), b"mail")).collect();
    let read = AtomicU64::new(0);
    let watch = |bytes| {
        read.fetch_add(bytes, Ordering::Relaxed);
    };
    let mailbox = Mailbox::find(&[folder.to_owned()]).expect("found").watched(&watch);
    assert_eq!(mailbox.skipped(), None);
    let mut count = 0;
    let mut vanish = |_: &str, _: &[u8]| {
        count += 1;
        paths[1..8].iter().for_each(|path| drop(fs::remove_file(path)));
        Ok::<(), MailError>(())
    };
    mailbox.each_message(&mut vanish).expect("readable");
    assert_eq!((count, read.load(Ordering::Relaxed)), (2, mailbox.bytes()));
    let said = mailbox.skipped().expect("some").to_string();
    assert!(said.starts_with("7 files could not be read and were passed over: "), "{said}");
    assert!(said.contains("5:2,") && !said.contains("6:2,") && said.ends_with(", ..."), "{said}");
    // A file that was named must be there.
    let named = Mailbox::find(&paths[..1]).expect("found");
    fs::remove_file(&paths[0]).expect("removed");
    assert!(named.each_message(&mut |_, _| Ok::<(), MailError>(())).is_err());
}

#[test]
fn standard_input_is_not_read_twice() {
    let error = Mailbox::find(&["-".into(), "-".into()]).err().expect("twice").to_string();
    assert!(error.contains("standard input (-)"), "{error}");
}

#[test]
fn an_index_cannot_lead_out_of_its_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "secret", b"not in the corpus");
    let absolute = folder.path().join("secret").display().to_string();
    for path in ["../secret", "box/../../secret", &absolute] {
        let index = format!("path\tlabel\n{path}\tham\n");
        write(folder.path(), "corpus/index.tsv", index.as_bytes());
        let error = Corpus::read(&folder.path().join("corpus")).expect_err("outside").to_string();
        assert!(error.contains("line 2") && error.contains(path), "{error}");
    }
}

#[test]
fn a_path_listed_twice_is_read_twice_packed_or_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    write(folder, "index.tsv", b"path\tlabel\nin/one\tham\nin/one\tspam\nin/one\tham\nout\tham\nout\tham\n");
    write(folder, "out", b"unpacked");
    write(folder, "mail.tar", &tar(&[("in/one", b"packed")]));
    let corpus = Corpus::read(folder).expect("readable");
    let texts: Vec<&[u8]> = corpus.messages.iter().map(|message| &message.bytes[..]).collect();
    assert_eq!(texts, [&b"packed"[..], b"packed", b"packed", b"unpacked", b"unpacked"]);
}

#[test]
fn a_message_of_a_corpus_is_not_too_large() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "index.tsv", b"path\tlabel\nlarge\tham\n");
    // A file with a hole: large, but not on the disk.
    let file = fs::File::create(folder.path().join("large")).expect("a file");
    file.set_len(MESSAGE_BYTES_MAX + 1).expect("a hole");
    let error = Corpus::read(folder.path()).expect_err("too large").to_string();
    assert!(error.contains("large") && error.contains("128 MiB"), "{error}");
}

#[test]
fn what_cannot_be_read_is_named_and_the_others_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let one = b"From a@b Thu Jan  1 00:00:00 1970\n\none\n";
    let mut mbox = [one.as_slice(), b"\nFrom a@b Thu Jan  1 00:00:00 1970\n\n"].concat();
    mbox.resize(mbox.len() + MESSAGE_BYTES_MAX as usize + 1, b'x');
    mbox.extend_from_slice(b"\n\nFrom a@b Thu Jan  1 00:00:00 1970\n\nthree\n");
    write(folder, "box", &mbox);
    write(folder, "cut.tar", &tar(&[("first", b"whole"), ("second", &[b'x'; 4096])])[..3000]);
    write(folder, "damaged.gz", b"no gzip");
    write(folder, "last.eml", b"last");
    let paths = [folder.join("nowhere.eml"), folder.to_owned()];
    let mut seen = Vec::new();
    let start = format!("{}/", folder.display());
    let mailbox = Mailbox::find_or_failures(&paths).expect("found");
    let walked: Result<(), MailError> = mailbox.each_message_or_failure(&mut |name, mail| {
        seen.push((name.replace(&start, ""), mail.is_ok()));
        Ok(())
    });
    walked.expect("nothing ends it");
    let expected = [
        ("nowhere.eml", false),
        ("box", true),
        ("box#2", false),
        ("box#3", true),
        ("cut.tar/first", true),
        ("cut.tar/second", false),
        ("damaged.gz", false),
        ("last.eml", true),
    ];
    let seen: Vec<(&str, bool)> = seen.iter().map(|(name, is_read)| (name.as_str(), *is_read)).collect();
    assert!(expected.iter().all(|one| seen.contains(one)), "{seen:?}");
    assert_eq!(seen.first().zip(seen.last()), expected.first().zip(expected.last()));
    assert!(Mailbox::find(&paths).is_err(), "who wants all or nothing is told at once");
}
