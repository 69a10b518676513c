"""Prints the digest that the installed Pyzor library gives each message.

Reads one file name per line and prints `name<TAB>digest`, or `name<TAB>none<TAB>why` where the client
would end with a traceback. `--lines` prints the chosen lines too, one per `<TAB>` column.
"""

import email
import sys

from pyzor.digest import DataDigester


class Lines(DataDigester):
    """Remembers the lines that are hashed."""

    def handle_line(self, line):
        self.chosen = getattr(self, "chosen", []) + [line]
        super().handle_line(line)


def main():
    with_lines = "--lines" in sys.argv[1:]
    for name in sys.stdin:
        name = name.rstrip("\n")
        with open(name, "rb") as file:
            mail = file.read()
        try:
            digester = (Lines if with_lines else DataDigester)(email.message_from_bytes(mail))
            answer = [digester.value] + [repr(line) for line in getattr(digester, "chosen", [])]
        except Exception as error:  # The client catches nothing here.
            answer = ["none", type(error).__name__ + ": " + repr(str(error))[:200]]
        print(name, *answer, sep="\t", flush=True)


main()
