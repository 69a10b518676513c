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

#[test]
fn a_complaint_without_arf_is_noticed_and_not_reported() {
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    folder.write("a.eml", mail(1));
    folder.write("b.eml", mail(2));
    folder.write("complaint.eml", arf("abuse", "message/rfc822", &mail(1)));
    folder.write("forward.eml", forwarded(&[mail(1)]));
    for file in ["complaint.eml", "forward.eml"] {
        for verb in ["report", "revoke", "withdraw"] {
            let ran = serving.run(&format!("{verb} {file}"));
            assert_eq!((ran.code, ran.out.as_str()), (65, ""), "{verb} {file}: {}", ran.err);
            assert!(ran.err.contains("carries 1 message"), "{}", ran.err);
            assert!(ran.err.contains("--arf") && ran.err.contains("--as-is"), "{}", ran.err);
        }
    }
    let ran = serving.run("report --json complaint.eml b.eml");
    assert_eq!(ran.code, 65, "the others are reported: {}", ran.err);
    assert_eq!(ran.json()[1]["acknowledged"], true);
    assert_eq!((serving.verdict("a.eml").1, serving.verdict("b.eml").1), (0, 10));
    assert_eq!(serving.run("report --as-is forward.eml").code, 0);
    assert_eq!(serving.verdict("forward.eml").1, 10);
    folder.run("report --arf --as-is a.eml").refused_as_usage();
}

#[test]
fn on_a_terminal_somebody_is_asked_what_is_meant() {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let folder = Folder::new();
    let serving = Serving::start(&folder);
    folder.write("a.eml", mail(1));
    folder.write("complaint.eml", arf("abuse", "message/rfc822", &mail(1)));
    if Command::new("script").arg("--version").stdout(Stdio::null()).status().is_err() {
        eprintln!("skipped: there is no script(1) to make a terminal");
        return;
    }
    let seenit = folder.command("report complaint.eml complaint.eml");
    let line = format!(
        "{} report complaint.eml complaint.eml --server {}",
        seenit.get_program().display(),
        serving.url()
    );
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).current_dir(folder.path("."));
    command.env("XDG_STATE_HOME", folder.path("state")).env_remove("SEENIT_TOKEN");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("script starts");
    // It waits for the end of its input; the question is asked once for both.
    child.stdin.take().expect("piped").write_all(b"what?\nc\n").expect("written");
    let output = child.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert_eq!(
        told.matches("what it [c]arries").count(),
        2,
        "asked again after nonsense, and then no more: {told}"
    );
    assert_eq!(told.matches(": reported: ").count(), 2, "{told}");
    assert_eq!(serving.verdict("a.eml").1, 10);
}
