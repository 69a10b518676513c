//! A message without its headers but those of the text: who sent it, and through whom, must not help anybody.

/// Headers that stay: the subject, and what it takes to read the body.
const KEPT: [&[u8]; 4] = [b"subject", b"mime-version", b"content-type", b"content-transfer-encoding"];

/// The subject, the headers of MIME, and the body as it is.
pub(super) fn subject_and_body(raw: &[u8]) -> Vec<u8> {
    let mut stripped = Vec::with_capacity(raw.len());
    let mut at = 0;
    let mut keep = false;
    for (number, line) in raw.split_inclusive(|&byte| byte == b'\n').enumerate() {
        if line == b"\n" || line == b"\r\n" {
            break;
        }
        at += line.len();
        // The line of an mbox is no header, and neither a header nor its continuation follows from it.
        if number == 0 && line.starts_with(b"From ") {
            continue;
        }
        if !line.starts_with(b" ") && !line.starts_with(b"\t") {
            let name = line.split(|&byte| byte == b':').next().unwrap_or_default();
            keep = KEPT.iter().any(|kept| name.trim_ascii_end().eq_ignore_ascii_case(kept));
        }
        if keep {
            stripped.extend_from_slice(line);
        }
    }
    stripped.extend_from_slice(&raw[at..]);
    stripped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_text_and_its_headers_stay() {
        let raw = b"From joe Mon\nReceived: by a\n\tfor b\nsubject: one\n two\nX-Spam: yes\n\
            Content-Type: text/plain\n\nFrom: x\nbody\n";
        let stripped = String::from_utf8(subject_and_body(raw)).expect("ASCII");
        assert_eq!(stripped, "subject: one\n two\nContent-Type: text/plain\n\nFrom: x\nbody\n");
        assert_eq!(subject_and_body(b""), b"");
        assert_eq!(subject_and_body(b"Subject: only"), b"Subject: only");
        assert_eq!(subject_and_body(b"X: y\r\n\r\nbody"), b"\r\nbody");
    }
}
