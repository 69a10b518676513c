//! A reported mail, put together again: the client sends its header and its parts, without what separated them.

use seenit_wire::razor::Upload;

/// What separates the parts of the mail that is put together. Nothing a client sends has it.
const BOUNDARY: &str = "=_seenit-razor-upload_=";

/// Fields of the header that say how the body is laid out: those of the original do not hold any more.
const LAYOUT_FIELDS: [&[u8]; 2] = [b"content-type:", b"content-transfer-encoding:"];

/// The line that the client writes on top of every part. A part of a multipart begins with its own header.
const AGENT_FIELD: &[u8] = b"X-Razor2-Agent:";

/// A mail with the same header and the same parts. Nested parts lie side by side, as no signature minds.
pub(super) fn message(upload: &Upload<'_>) -> Vec<u8> {
    let parts: Vec<&[u8]> = upload.parts().filter(|part| !part.is_empty()).collect();
    let mut mail = Vec::new();
    for field in fields(upload.header()).filter(|field| !is_layout(field)) {
        mail.extend_from_slice(field);
    }
    if let [only] = parts.as_slice() {
        mail.extend_from_slice(only);
        return mail;
    }
    mail.extend_from_slice(format!("Content-Type: multipart/mixed; boundary=\"{BOUNDARY}\"\n\n").as_bytes());
    for part in parts {
        mail.extend_from_slice(format!("--{BOUNDARY}\n").as_bytes());
        mail.extend_from_slice(without_agent_line(part));
        mail.push(b'\n');
    }
    mail.extend_from_slice(format!("--{BOUNDARY}--\n").as_bytes());
    mail
}

fn without_agent_line(part: &[u8]) -> &[u8] {
    let end = part.iter().position(|byte| *byte == b'\n').map_or(part.len(), |at| at + 1);
    if part.starts_with(AGENT_FIELD) { &part[end..] } else { part }
}

/// The fields of a header, each with the lines it goes on in.
fn fields(header: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = header;
    std::iter::from_fn(move || {
        let mut end = 0;
        while end < rest.len() {
            end = rest[end..].iter().position(|byte| *byte == b'\n').map_or(rest.len(), |at| end + at + 1);
            if !matches!(rest.get(end), Some(b' ' | b'\t')) {
                break;
            }
        }
        let (field, after) = rest.split_at(end);
        rest = after;
        (!field.is_empty()).then_some(field)
    })
}

fn is_layout(field: &[u8]) -> bool {
    LAYOUT_FIELDS
        .iter()
        .any(|name| field.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use seenit_ledger::signature::Case;
    use seenit_signature::Kind;
    use seenit_signature::razor::Ep4;
    use seenit_wire::razor::{Decoder, Request};

    fn uploaded(bytes: &[u8]) -> Vec<u8> {
        let mut decoder = Decoder::new();
        decoder.take_messages(true);
        decoder.feed(bytes);
        match decoder.next_request() {
            Ok(Some(Request::Upload(upload))) => message(&upload),
            other => panic!("no upload: {other:?}"),
        }
    }

    #[test]
    fn a_mail_of_one_part_has_the_signatures_it_had() {
        let text = "Dear customer, this is an offer\nthat nobody in the whole world should miss\n\
            so write to us today and become as rich as we are\nhttp://shop.example.com/offer\n";
        let mail = format!(
            "From: a@example.com\nSubject: offer\nContent-Type: text/plain;\n charset=us-ascii\n\n{text}"
        );
        let upload = format!(
            "-a=r&message=*\r\nFrom: a@example.com\nSubject: offer\nContent-Type: text/plain;\n charset=us-ascii\n\r\n\
             X-Razor2-Agent: Razor-Agents v2.84\nContent-Type: text/plain; charset=us-ascii\n\n{text}\r\n.\r\n"
        );
        let again = Case::of_message(&uploaded(upload.as_bytes()), &Ep4::default());
        let first = Case::of_message(mail.as_bytes(), &Ep4::default());
        assert!(first.len() >= 4);
        assert_eq!(again, first);
    }

    #[test]
    fn a_mail_of_two_parts_has_the_name_that_the_client_checks_it_by() {
        let texts = [
            "Dear customer, this is an offer\nthat nobody in the whole world should miss today\n",
            "so write to us now and become as rich as we are\nand leave this list whenever you want to\n",
        ];
        let part = |text: &str| format!("Content-Type: text/plain\n\n{text}");
        let [first, second] = texts.map(part);
        let head = "From: a@example.com\nContent-Type: multipart/mixed; boundary=\"x\"\n";
        let mail = format!("{head}\n--x\n{first}\n--x\n{second}\n--x--\n");
        let agent = "X-Razor2-Agent: Razor-Agents v2.84\n";
        let upload = format!("-a=r&message=*\r\n{head}\r\n{agent}{first}\r\n{agent}{second}\r\n.\r\n");
        let razor = |mail: &[u8]| {
            let case = Case::of_message(mail, &Ep4::default());
            case.iter().find(|one| one.kind() == Kind::RazorE4).expect("a name").digest().to_vec()
        };
        assert_eq!(razor(&uploaded(upload.as_bytes())), razor(mail.as_bytes()));
    }

    #[test]
    fn parts_are_kept_apart() {
        let upload =
            b"-a=r&message=*\r\nFrom: a@example.com\nContent-Type: multipart/alternative; boundary=x\n\r\n\
            Content-Type: text/plain\n\none\n\r\nContent-Type: text/html\n\n<p>two</p>\n\r\n.\r\n";
        let mail = String::from_utf8(uploaded(upload)).expect("text");
        assert_eq!(mail.matches(BOUNDARY).count(), 4);
        assert!(mail.contains("Content-Type: text/plain\n\none\n") && mail.contains("<p>two</p>"));
        assert!(!mail.contains("boundary=x"));
    }
}
