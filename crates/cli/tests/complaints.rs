//! Guards `--arf`: what complaints carry is reported, and nothing else.

mod common;

use common::Folder;
use common::serving::{Serving, mail};

/// A complaint in the Abuse Reporting Format.
fn arf(feedback_type: &str, media: &str, inner: &str) -> String {
    format!(
        "From: fbl@isp.example\nSubject: complaint\nMIME-Version: 1.0\n\
         Content-Type: multipart/report; report-type=feedback-report; boundary=\"=_b\"\n\n\
         --=_b\nContent-Type: text/plain\n\nThis is a complaint about a message.\n\n\
         --=_b\nContent-Type: message/feedback-report\n\nFeedback-Type: {feedback_type}\nVersion: 1\n\n\
         --=_b\nContent-Type: {media}\n\n{inner}\n--=_b--\n"
    )
}

fn forwarded(inner: &[String]) -> String {
    let parts: String =
        inner.iter().map(|mail| format!("--x\nContent-Type: message/rfc822\n\n{mail}\n")).collect();
    format!("Content-Type: multipart/mixed; boundary=x\n\n--x\n\nPlease look at these.\n{parts}--x--\n")
}

#[test]
fn a_complaint_reports_the_message_in_it() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    folder.write("a.eml", mail(1));
    folder.write("complaint.eml", arf("abuse", "message/rfc822", &mail(1)));
    let ran = serving.run("report --arf complaint.eml");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(serving.verdict("a.eml").1, 10);
}

#[test]
fn messages_forwarded_as_attachments_are_reported_each() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    folder.write("a.eml", mail(1));
    folder.write("b.eml", mail(2));
    folder.write("forward.eml", forwarded(&[mail(1), mail(2)]));
    let ran = serving.run("report --arf --json forward.eml");
    let rows = ran.json();
    let files: Vec<_> = rows.as_array().expect("an array").iter().map(|row| row["file"].as_str()).collect();
    assert_eq!(files, [Some("forward.eml, attached message 1"), Some("forward.eml, attached message 2")]);
    assert_eq!((serving.verdict("a.eml").1, serving.verdict("b.eml").1), (10, 10));
}

#[test]
fn a_complaint_that_says_not_spam_is_for_revoke() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    folder.write("a.eml", mail(1));
    folder.write("good.eml", arf("not-spam", "message/rfc822", &mail(1)));
    assert_eq!(serving.run("report a.eml").code, 0);
    let ran = serving.run("report --arf good.eml");
    assert_eq!(ran.code, 65);
    assert!(ran.err.contains("seenit revoke --arf"), "{}", ran.err);
    assert_eq!(serving.run("revoke --arf good.eml").code, 0);
    assert_eq!(serving.verdict("a.eml").0, "ham");
}

#[test]
fn what_carries_no_message_is_refused_and_the_others_are_reported() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    folder.write("a.eml", mail(1));
    folder.write("head.eml", arf("abuse", "text/rfc822-headers", "Subject: buy\n"));
    folder.write("complaint.eml", arf("abuse", "message/rfc822", &mail(1)));
    let ran = serving.run("report --arf a.eml head.eml complaint.eml");
    assert_eq!(ran.code, 65);
    assert!(ran.err.contains("a.eml: no message is attached"), "{}", ran.err);
    assert!(ran.err.contains("head.eml: it carries only the head"), "{}", ran.err);
    assert!(ran.out.contains("complaint.eml: reported"), "{}", ran.out);
    assert_eq!(serving.verdict("a.eml").1, 10);
}
