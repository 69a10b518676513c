//! Messages are found wherever mail lies, in a fixed order, and what cannot be read is named.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use seenit_mailbox::{Corpus, Label, MailError, Mailbox};

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
        "d.tar/in/one",
        "e.tar.gz/one",
        "f.tar.zst/two",
        "f.tar.zst/one",
    ];
    assert_eq!(names, expected);
    assert_eq!(found[0].1, "Subject: one\n\nFrom here on\n");
    assert!(found[3].1.starts_with("Subject: x\n\none"), "{found:?}");
    assert!(found[4].1.contains("two"), "{found:?}");
    assert_eq!([&found[6].1, &found[7].1], ["gzip", "zstd"]);
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
