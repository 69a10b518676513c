//! Complaints: messages that carry others, in the Abuse Reporting Format (RFC 5965) or forwarded as attachments.

use std::borrow::Cow;

use crate::head;
use crate::message::without_envelope;
use crate::parts::{self, Part};

/// Attached messages that are taken: who forwards more at a time sends a mailbox.
pub const MESSAGES_MAX: usize = 64;

/// What a message is that carries others. Whoever reports it most likely means those.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// A complaint in the Abuse Reporting Format.
    Complaint,
    /// A message with others attached. Reports of delivery, which carry what was sent, are none; nor are digests.
    Forward,
}

/// What a complaint carries.
#[derive(Debug, Default)]
pub struct Complaint<'m> {
    /// What it is itself, if it is such a thing.
    pub carrier: Option<Carrier>,
    /// `Feedback-Type` of its report, in lower case: `abuse`, `fraud`, `not-spam`...; none where it has no report.
    pub feedback_type: Option<String>,
    /// The messages it is about, decoded.
    pub messages: Vec<Cow<'m, [u8]>>,
    /// Whether it carries the head of a message without its body.
    pub has_head_only: bool,
}

impl<'m> Complaint<'m> {
    /// Reads a complaint. What is attached to attached messages is theirs, and is not looked at.
    pub fn read(mail: &'m [u8]) -> Self {
        let mut complaint = Complaint::default();
        let mail = without_envelope(mail);
        let mut has_report = false;
        for part in parts::parts(mail) {
            has_report |= part.media == "message/feedback-report";
            match part.media.as_str() {
                "message/rfc822" | "message/global" if complaint.messages.len() < MESSAGES_MAX => {
                    // RFC 2046 forbids encoding it; mail programs do so all the same.
                    complaint.messages.push(part.bytes());
                }
                "message/feedback-report" if complaint.feedback_type.is_none() => {
                    complaint.feedback_type = feedback_type(&part);
                }
                "text/rfc822-headers" | "message/global-headers" => complaint.has_head_only = true,
                _ => (),
            }
        }
        complaint.messages.retain(|message| !message.trim_ascii().is_empty());
        let (media, report_type) = parts::declared(mail, "report-type").unwrap_or_default();
        complaint.carrier = match media.as_str() {
            _ if has_report => Some(Carrier::Complaint),
            "multipart/report" if report_type.as_deref() == Some("feedback-report") => {
                Some(Carrier::Complaint)
            }
            "multipart/mixed" | "message/rfc822" if !complaint.messages.is_empty() => Some(Carrier::Forward),
            _ => None,
        };
        complaint
    }

    /// Whether it says that a message is no spam.
    pub fn is_not_spam(&self) -> bool {
        self.feedback_type.as_deref() == Some("not-spam")
    }
}

fn feedback_type(part: &Part<'_>) -> Option<String> {
    let report = part.bytes();
    let field = head::fields(&report).find(|field| field.is("feedback-type"))?;
    Some(String::from_utf8_lossy(field.value.trim_ascii()).to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARF: &str = "From: fbl@isp.example\r\n\
        Content-Type: multipart/report; report-type=feedback-report; boundary=\"b\"\r\n\r\n\
        --b\r\nContent-Type: text/plain\r\n\r\nA complaint.\r\n\
        --b\r\nContent-Type: message/feedback-report\r\n\r\nFeedback-Type: Abuse\r\nVersion: 1\r\n\
        --b\r\nContent-Type: message/rfc822\r\n\r\nSubject: buy\r\n\r\nBuy now.\r\n--b--\r\n";

    #[test]
    fn a_complaint_gives_its_type_and_the_message_as_it_was() {
        let complaint = Complaint::read(ARF.as_bytes());
        assert_eq!(complaint.feedback_type.as_deref(), Some("abuse"));
        assert_eq!(complaint.messages, [b"Subject: buy\r\n\r\nBuy now.".as_slice()]);
        assert!(!complaint.is_not_spam());
        let good = ARF.replace("Abuse", "not-spam");
        assert!(Complaint::read(good.as_bytes()).is_not_spam());
    }

    #[test]
    fn forwarded_messages_are_found_encoded_or_not_and_those_inside_them_are_not() {
        let forwarded = "Content-Type: multipart/mixed; boundary=x\n\n--x\n\nsee below\n\
            --x\nContent-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\nU3ViamVjdDogYQoKb25lCg==\n\
            --x\nContent-Type: message/rfc822\n\nContent-Type: multipart/mixed; boundary=y\n\n\
            --y\nContent-Type: message/rfc822\n\nSubject: inside\n\nthree\n--y--\n\n--x--\n";
        let complaint = Complaint::read(forwarded.as_bytes());
        assert_eq!(complaint.feedback_type, None);
        assert_eq!(complaint.messages.len(), 2);
        assert_eq!(complaint.messages[0].as_ref(), b"Subject: a\n\none\n");
        assert!(complaint.messages[1].starts_with(b"Content-Type: multipart/mixed; boundary=y"));
    }

    #[test]
    fn what_carries_a_message_is_told_apart_from_what_only_holds_one() {
        let carrier = |mail: &str| Complaint::read(mail.as_bytes()).carrier;
        assert_eq!(carrier(ARF), Some(Carrier::Complaint));
        assert_eq!(carrier(&ARF.replace("; report-type=feedback-report", "")), Some(Carrier::Complaint));
        let bare =
            "Content-Type: multipart/report; report-type=Feedback-Report; boundary=b\n\n--b\n\nhi\n--b--\n";
        assert_eq!(carrier(bare), Some(Carrier::Complaint), "even one that carries nothing");
        let holding = |media: &str| {
            format!(
                "Content-Type: {media}; boundary=x\n\n--x\n\nsee\n--x\nContent-Type: message/rfc822\n\n\
                 Subject: a\n\none\n--x--\n"
            )
        };
        assert_eq!(carrier(&holding("multipart/mixed")), Some(Carrier::Forward));
        assert_eq!(carrier(&holding("multipart/report; report-type=delivery-status")), None, "a bounce");
        assert_eq!(carrier(&holding("multipart/digest")), None);
        assert_eq!(carrier("Subject: hello\n\nThere is nothing attached.\n"), None);
    }

    #[test]
    fn heads_alone_and_plain_mail_carry_nothing() {
        let head = ARF.replace("message/rfc822", "text/rfc822-headers");
        let complaint = Complaint::read(head.as_bytes());
        assert!(complaint.messages.is_empty() && complaint.has_head_only);
        let plain = Complaint::read(b"Subject: hello\n\nThere is nothing attached.\n");
        assert!(plain.messages.is_empty() && !plain.has_head_only && plain.feedback_type.is_none());
        assert!(Complaint::read(b"").messages.is_empty());
    }
}
