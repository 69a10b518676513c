//! DCC's whitelist file: what each line means, and where the line is that means nothing.

use std::net::IpAddr;

use proptest::prelude::*;
use seenit_wire::dcc::whitelist::{self, Addresses, Reason, Subject};
use seenit_wire::dcc::{Count, Sum, SumKind};

fn addresses(subject: &Subject) -> Addresses {
    match subject {
        Subject::Addresses(addresses) => *addresses,
        other => panic!("addresses were expected, not {other:?}"),
    }
}

/// The only subject of a file of one line.
fn subject(line: &str) -> Subject {
    let mut entries = whitelist::parse(line).expect("a whitelist").entries;
    assert_eq!(entries.len(), 1, "{line}");
    entries.remove(0).subject
}

fn reason(line: &str) -> Reason {
    whitelist::parse(line).expect_err(line).reason
}

#[test]
fn a_file_is_read_line_by_line() {
    let text = "# our relays\n\
        ok\tip\t192.0.2.0/24   # the office\n\
        \n\
        ok2   env_from    bounce@example.com\n\
        \x20     From        \"List #1\" <list@example.com>\n\
        include /etc/more\n\
        MANY  message-id  <bad#1@example.com>\n\
        ok    substitute  List-ID  news.example.com\n\
        many hex body    a06f63df 504229d7 7816c2d6 e558b833\n\
        \x20 mx ip 10.1.2.3\n";
    let whitelist = whitelist::parse(text).expect("a whitelist");
    let digest = [160, 111, 99, 223, 80, 66, 41, 215, 120, 22, 194, 214, 229, 88, 184, 51];
    let text = |kind, text: &str| Subject::Text(kind, text.to_owned());
    let found: Vec<_> =
        whitelist.entries.iter().map(|entry| (entry.line, entry.count, entry.subject.clone())).collect();
    assert_eq!(
        found,
        [
            (2, Count::Ok, subject("ok ip 192.0.2.0-192.0.2.255")),
            (4, Count::Ok2, text(SumKind::EnvFrom, "bounce@example.com")),
            // The comment begins within the quotes: the file knows no quotes.
            (5, Count::Ok2, text(SumKind::From, "\"List")),
            (7, Count::Many, text(SumKind::MessageId, "<bad#1@example.com>")),
            (8, Count::Ok, text(SumKind::Substitute, "List-IDnews.example.com")),
            (9, Count::Many, Subject::Sum(Sum { kind: SumKind::Body, digest })),
            (10, Count::Ok, subject("ok ip 10.1.2.3/32")),
        ]
    );
    assert_eq!(whitelist.includes, [(6, "/etc/more".to_owned())]);
}

#[test]
fn addresses_are_single_or_blocks_or_ranges() {
    let listed = |line: &str| addresses(&subject(line)).iter().map(|a| a.to_string()).collect::<Vec<_>>();
    assert_eq!(listed("ok ip 192.0.2.25"), ["192.0.2.25"]);
    assert_eq!(listed("ok ip 192.0.2.7/31"), ["192.0.2.6", "192.0.2.7"]);
    assert_eq!(listed("ok ip 10.0.0.255-10.0.1.0"), ["10.0.0.255", "10.0.1.0"]);
    assert_eq!(listed("ok ip 2001:db8::5/127"), ["2001:db8::4", "2001:db8::5"]);
    assert_eq!(listed("ok ip 10.1.0.0/16").len(), 65536);
    assert_eq!(listed("ok ip 2001:db8::/112").len(), 65536);
}

#[test]
fn what_cannot_be_obeyed_is_an_error_with_its_line() {
    let error = whitelist::parse("ok ip 192.0.2.1\n\nmaybe ip 192.0.2.1\n").expect_err("no value");
    assert_eq!(error.to_string(), "line 3: \"maybe\" is none of ok, ok2, many, mx and mxdcc");
    assert_eq!(reason("  from a@example.com"), Reason::NothingToRepeat);
    assert_eq!(reason("ok subject x"), Reason::Type("subject".into()));
    assert_eq!(reason("ok body x"), Reason::Type("body".into()));
    assert_eq!(reason("ok from"), Reason::NoData("from".into()));
    assert_eq!(reason("ok substitute List-ID"), Reason::NoData("List-ID".into()));
    assert_eq!(reason("ok"), Reason::NoData("a value".into()));
    assert_eq!(reason("include"), Reason::NoData("include".into()));
    assert_eq!(reason("ok env_to postmaster"), Reason::ClientOnly("env_to".into()));
    assert_eq!(reason("option DCC-off"), Reason::ClientOnly("option".into()));
    assert_eq!(reason("ok ip mail.example.com"), Reason::Addresses("mail.example.com".into()));
    for wrong in ["10.0.0.0/33", "10.0.0.0/-1", "10.0.0.2-10.0.0.1", "10.0.0.1-::1", "/8"] {
        assert_eq!(reason(&format!("ok ip {wrong}")), Reason::Addresses(wrong.into()));
    }
    for many in ["10.0.0.0/15", "0.0.0.0/0", "::/0", "::/111", "::-ffff::"] {
        assert_eq!(reason(&format!("ok ip {many}")), Reason::TooManyAddresses(many.into()));
    }
    for wrong in ["a06f63df", "a06f63df 504229d7 7816c2d6 e558b83", "+06f63df 504229d7 7816c2d6 e558b833"] {
        assert_eq!(reason(&format!("ok hex body {wrong}")), Reason::Hex(wrong.into()));
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(
        text in "(?s)((ok2?|many|include| )( |\t)(ip|from|hex|substitute).{0,30}\n?){0,4}.{0,40}",
    ) {
        let _ = whitelist::parse(&text);
    }

    #[test]
    fn a_block_holds_the_address_that_names_it(bits in 0_u32..=1 << 16, address: u32, width in 16_u32..=32) {
        let address = IpAddr::from((address ^ bits).to_be_bytes());
        let block = addresses(&subject(&format!("ok ip {address}/{width}")));
        prop_assert_eq!(block.iter().filter(|one| *one == address).count(), 1);
        prop_assert_eq!(block.iter().count(), 1 << (32 - width));
    }
}
