#!/usr/bin/env python3
"""Draws the pictures of the pages: overview.svg, one-tick.svg, session-life.svg, takeover.svg.

usage: draw.py           writes them beside this file
       draw.py --check   fails if one of them is not what this file draws

Nothing but the standard library. The same file draws the same bytes.
"""
import pathlib
import sys
from xml.sax.saxutils import escape

HERE = pathlib.Path(__file__).resolve().parent
INK, PALE, BLUE, GREEN, AMBER, RED = "#24292f", "#57606a", "#ddf4ff", "#dafbe1", "#fff8c5", "#ffebe9"
CHARACTER = 7.2  # width of one of 13 px, at most


class Picture:
    def __init__(self, width, height, title, text):
        self.width, self.height = width, height
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'role="img" font-family="Helvetica, Arial, sans-serif" font-size="13">',
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(text)}</desc>",
            '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
            f'orient="auto-start-reverse"><path d="M0 0L10 5L0 10z" fill="{INK}"/></marker></defs>',
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        ]

    def text(self, x, y, line, size=13, color=INK, anchor="middle", bold=False):
        weight = ' font-weight="bold"' if bold else ""
        length = len(line) * CHARACTER * size / 13
        left = x - {"start": 0, "middle": length / 2, "end": length}[anchor]
        if left < 0 or left + length > self.width or y > self.height:
            raise SystemExit(f'"{line}" leaves the picture')
        self.parts.append(f'<text x="{x}" y="{y}" font-size="{size}" fill="{color}" text-anchor="{anchor}"{weight}>'
                          f"{escape(line)}</text>")

    def box(self, x, y, width, height, title, *lines, fill=BLUE, dashed=False):
        """A rounded box; its first line is bold."""
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" fill="{fill}" '
                          f'stroke="{INK}"{dash}/>')
        for number, line in enumerate([title, *lines]):
            size = 13 if number == 0 else 12
            if len(line) * CHARACTER * size / 13 > width + 8:
                raise SystemExit(f'"{line}" is too long for its box')
            self.text(x + width / 2, y + 20 + 17 * number, line, size, INK if number == 0 else PALE, bold=number == 0)

    def arrow(self, x1, y1, x2, y2, *lines, at=None, anchor="middle", both=False, dashed=False):
        start = ' marker-start="url(#tip)"' if both else ""
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(f'<path d="M{x1} {y1}L{x2} {y2}" stroke="{INK}" fill="none" marker-end="url(#tip)"{start}{dash}/>')
        x, y = at or ((x1 + x2) / 2, (y1 + y2) / 2 - 5)
        for number, line in enumerate(lines):
            self.text(x, y + 15 * number, line, 12, PALE, anchor)

    def line(self, x1, y1, x2, y2, color=PALE, width=1, dashed=False):
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(f'<path d="M{x1} {y1}L{x2} {y2}" stroke="{color}" stroke-width="{width}" fill="none"{dash}/>')

    def done(self):
        return "\n".join([*self.parts, "</svg>", ""])


def overview():
    picture = Picture(760, 330, "Pawl at a glance",
                      "Processes of one machine share one SQLite file. A worker runs orchestrations and activities, "
                      "another one holds the hardware, a client starts and watches. There is no server.")
    picture.box(20, 30, 210, 96, "your program", "orchestrations decide", "activities do one thing", "a worker", fill=BLUE)
    picture.box(275, 30, 210, 96, "another program", "activities with hardware", "sessions pin them here", "a worker", fill=BLUE)
    picture.box(530, 30, 210, 96, "any program", "starts, raises, cancels", "lists, watches", "a client", fill=GREEN)
    picture.box(120, 220, 520, 82, "one file: pawl.db (SQLite)",
                "history, timers, messages, values, task queue, sessions",
                "on a local file system; no server, no network", fill=AMBER)
    picture.arrow(150, 128, 190, 216, "one turn,", "one transaction", at=(112, 164), anchor="middle", both=True)
    picture.arrow(380, 128, 380, 216, "work and results", at=(390, 176), anchor="start", both=True)
    picture.arrow(620, 128, 580, 216, "calls that", "are durable", at=(654, 164), anchor="middle", both=True)
    picture.text(380, 18, "processes of one machine: kill any of them at any moment, the rest goes on", 12, PALE)
    return picture.done()


def one_tick():
    picture = Picture(760, 300, "One tick of the loop",
                      "Look, run turns, write, let effects leave. Only the third step holds the write lock.")
    steps = [("1. Look", BLUE, "in one read view:", "ready instances,", "their messages,", "what is due"),
             ("2. Run turns", BLUE, "your orchestrations,", "from their top;", "nothing is locked,", "nothing is written"),
             ("3. Write", AMBER, "one transaction:", "history, results,", "timers, the start of", "the next activities"),
             ("4. Let effects leave", GREEN, "answers, log lines;", "activities begin:", "inline, in steps,", "on pool threads")]
    for number, (title, fill, *lines) in enumerate(steps):
        x = 20 + 185 * number
        picture.box(x, 60, 165, 100, title, *lines, fill=fill)
        if number:
            picture.arrow(x - 20, 110, x - 2, 110)
    picture.line(390, 182, 555, 182, INK, 2)
    picture.text(472, 200, "BEGIN IMMEDIATE .. COMMIT", 12, PALE)
    picture.text(472, 216, "one flush for all that is ready", 12, PALE)
    picture.text(195, 196, "a crash here: nothing has happened", 12, PALE)
    picture.text(195, 212, "the turn is taken again", 12, PALE)
    picture.text(655, 196, "a crash here: all is stored", 12, PALE)
    picture.text(655, 212, "activities are run again", 12, PALE)
    picture.parts.append(f'<path d="M657 50L657 30L102 30L102 56" stroke="{INK}" fill="none" marker-end="url(#tip)"/>')
    picture.text(380, 22, "a result, a message, a due time: the next tick; else the loop sleeps", 12, PALE)
    picture.text(380, 262, "What the clock, the disk and others may have changed between 1 and 3 is checked again in 3;", 12, PALE)
    picture.text(380, 278, "a turn that does not fit any more is dropped and taken again.", 12, PALE)
    return picture.done()


def session_life():
    picture = Picture(760, 350, "The life of a session",
                      "A session has no owner until a worker takes its first activity. It is active while it has work, idle "
                      "without, and goes back to having no owner when it is released or its owner dies. It ends closed, "
                      "expired or lost.")
    picture.box(20, 110, 160, 66, "no owner", "its work waits in", "the task queue", fill=AMBER)
    picture.box(300, 40, 160, 66, "active", "one owner, epoch n", "work runs or waits", fill=GREEN)
    picture.box(300, 180, 160, 66, "idle", "one owner, epoch n", "warm state is kept", fill=BLUE)
    picture.box(580, 30, 160, 50, "closed", "code, person, idle_close", fill="#f6f8fa")
    picture.box(580, 110, 160, 50, "expired", "max_age has passed", fill="#f6f8fa")
    picture.box(580, 190, 160, 50, "lost", "fail_on_loss, owner gone", fill=RED)
    picture.arrow(182, 126, 298, 74, "a worker takes", "its work: epoch + 1", at=(212, 70))
    picture.arrow(360, 108, 360, 178, "no work", at=(354, 146), anchor="end")
    picture.arrow(400, 178, 400, 108, "work", at=(406, 146), anchor="start")
    picture.arrow(298, 214, 184, 160, "idle timeout, handoff,", "drain, or the owner died", at=(190, 222))
    picture.arrow(462, 66, 578, 56)
    picture.arrow(462, 206, 578, 146)
    picture.arrow(462, 220, 578, 216)
    picture.text(520, 44, "the end", 12, PALE)
    picture.text(380, 290, "Every change of owner takes the next epoch. A result of an earlier epoch is refused.", 12, PALE)
    picture.text(380, 308, "A shared session that is idle and not needed any more is removed; the next work makes it anew.", 12, PALE)
    picture.text(380, 326, "A device has an owner only while a worker declares it, and is never idle.", 12, PALE)
    return picture.done()


def takeover():
    picture = Picture(760, 360, "Takeover after a kill",
                      "Worker A owns session s and is killed in the middle of an activity. The kernel frees its lock, worker B "
                      "buries A, takes the session with the next epoch and runs the activity again.")
    lanes = [(110, "worker A"), (380, "pawl.db"), (650, "worker B")]
    for x, name in lanes:
        picture.box(x - 70, 14, 140, 34, name, fill=AMBER if name == "pawl.db" else BLUE)
    picture.line(110, 48, 110, 140)
    picture.line(380, 48, 380, 345)
    picture.line(650, 48, 650, 345)
    picture.arrow(110, 80, 378, 80, "owns s, epoch 4; runs its activity, attempt 1")
    picture.line(102, 132, 118, 148, "#cf222e", 3)
    picture.line(118, 132, 102, 148, "#cf222e", 3)
    picture.text(124, 134, "kill -9: the effect may have", 12, PALE, "start")
    picture.text(124, 150, "happened, no result is stored", 12, PALE, "start")
    picture.arrow(110, 176, 648, 176, dashed=True)
    picture.text(215, 170, "the kernel frees A's lock", 12, PALE)
    picture.arrow(650, 212, 382, 212, "buries A, once")
    picture.arrow(650, 248, 382, 248, "takes s: epoch 5")
    picture.arrow(382, 284, 648, 284, "the activity again: attempt 2,", at=(515, 264))
    picture.text(515, 279, "same idempotency key", 12, PALE)
    picture.arrow(650, 322, 382, 322, "the result, with epoch 5", at=(515, 316))
    picture.text(370, 316, "a result with epoch 4", 12, PALE, "end")
    picture.text(370, 332, "would be refused", 12, PALE, "end")
    return picture.done()


PICTURES = {"overview.svg": overview, "one-tick.svg": one_tick, "session-life.svg": session_life, "takeover.svg": takeover}


def main():
    wrong = []
    for name, draw in PICTURES.items():
        path, drawn = HERE / name, draw().encode()
        if "--check" not in sys.argv:
            path.write_bytes(drawn)
        elif not path.is_file() or path.read_bytes() != drawn:
            wrong.append(f"{name} is not what docs/pictures/draw.py draws: run it")
    wrong += [f"{path.name} is drawn by nothing" for path in HERE.glob("*.svg") if path.name not in PICTURES]
    print("\n".join(wrong) if wrong else f"{len(PICTURES)} pictures")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
