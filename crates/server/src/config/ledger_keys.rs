//! What the keys of `[ledger]` mean. Their defaults are the ledger's own.

/// Each key and what it means.
pub(super) const KEYS: &[(&str, &[&str])] = &[
    ("capacity", &["Signatures that the tally of records holds. Memory is taken for all of them at start."]),
    ("rate", &["The false-positive rate of filters: of a seen count, of a bulk mark."]),
    (
        "seen",
        &[
            "What seen counts are kept in: `table` (about 4.6 bytes a signature) or `filter` (about 6, the papers'",
            "counting filter; a count is too high more often, and never by much).",
        ],
    ),
    ("seen_capacity", &["Signatures that are seen in one generation; beyond that new ones are not counted."]),
    (
        "peers_capacity",
        &[
            "Signatures of other sites that are remembered of one generation; 0 for as many as `seen_capacity`.",
        ],
    ),
    ("bulk_capacity", &["Signatures that become bulk in one generation."]),
    ("near_capacity", &["Texts (`near1` and `rspamd-near`) whose shingles the tallies hold."]),
    ("bulk_threshold", &["Recipients from which a signature is bulk."]),
    ("generation_secs", &["Seconds of a generation."]),
    ("seen_generations", &["Generations that seen counts are kept."]),
    ("record_generations", &["Generations that records are kept."]),
    ("quorum", &["Points that make a verdict of kinds that name one message."]),
    (
        "quorum_shared",
        &["Points that make a verdict of what many messages share: links, hosts, and parts of messages."],
    ),
    ("ratio", &["How many times the ham weight the spam weight must exceed, and the other way round."]),
    ("near_threshold", &["Shingles of 32 that make a replica."]),
    ("near_threshold_careful", &["The same while little ham is known."]),
    ("near_ham_min", &["Good texts from which enough ham is known."]),
    ("raw_max", &["Reports of one reporter that raw totals count, for each signature and generation."]),
    (
        "reporter_percent",
        &[
            "Signatures that one account may have added to all that is kept, in percent of `capacity`: nobody fills it",
            "alone. Those whom the operator vouches for have no such limit.",
        ],
    ),
    (
        "account_weight",
        &[
            "Points that an account begins with that the operator made: it earns more, slowly and never a quorum,",
            "where those whom the operator vouches for say the same (docs/design/trust.md).",
        ],
    ),
    (
        "free_bytes_min",
        &[
            "Bytes that stay free where the journal lies: below that, writes are refused. The default is 256 MiB.",
        ],
    ),
    (
        "delta_millis",
        &[
            "Milliseconds between deltas of seen counts: what a crash may cost, with the time that a delta takes.",
        ],
    ),
    ("snapshot_secs", &["Seconds between snapshots; none is taken where nothing changed."]),
];
