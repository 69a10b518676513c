"""Bodies that JSON schemas cannot describe."""

import schemathesis
from hypothesis import strategies as st

# Numbers and digest lengths of some kinds: see docs/reference/signatures.md.
LENGTHS = {1: 20, 3: 20, 5: 20, 7: 8, 8: 16, 10: 64}


def signature(kind):
    length = LENGTHS[kind]
    head = bytes([kind]) + length.to_bytes(2, "little")
    return st.binary(min_size=length, max_size=length).map(lambda digest: head + digest)


signatures = st.sampled_from(sorted(LENGTHS)).flatmap(signature)
cases = st.lists(signatures, min_size=1, max_size=3).map(
    lambda found: len(found).to_bytes(2, "little") + b"".join(found)
)
# One signature is a check, one case is a write; each is a mistake elsewhere, which is answered as one.
schemathesis.openapi.media_type("application/vnd.seenit.v1", st.one_of(signatures, cases))
schemathesis.openapi.media_type("message/rfc822", st.binary(max_size=2000))
