"""python3 -m larder.fit: implements `larder run`."""

import functools
import json
import os
import shutil
import signal
import sys

from larder._files import NewFile
from larder._plain import plain
from larder.fit import cards as table
from larder.fit import options as reading
from larder.fit import (
    advice, engines, programs, replays, search, serving_report, verdict,
)
from larder.fit.running import ROOMY, Failed, Interrupted, Runner

_DEFAULT_DEVICE = "sim:24GiB"

_STATUSES = {
    verdict.FITS: 0, verdict.DOES_NOT_FIT: 1, verdict.NO_VERDICT: 2,
}
# The status of a program that was ended by Ctrl-C.
_INTERRUPTED = 128 + signal.SIGINT


def _refuse(why):
    print(f"larder run: {plain(why)}", file=sys.stderr)
    return 2


def _say(line, file=None):
    print("\n".join(plain(part) for part in line.split("\n")), file=file)


def _tell(options, told):
    """Write the report as JSON to the requested place."""
    if options.json_file is None:
        print(json.dumps(told))
        return
    with NewFile(options.json_file, encoding="utf-8") as file:
        file.write(json.dumps(told) + "\n")


def _card_of(options, cards):
    """The GPU to simulate: a card of the table, or one of a given size."""
    from larder.fit import sizes

    if options.gpu:
        return table.find(cards, options.gpu)
    spec = options.device or _DEFAULT_DEVICE
    named = table.named(cards, spec)
    if named is not None:
        return named
    return table.Card(
        "", "a simulated GPU", sizes.of_spec(spec), 0, (8, 0), 108, ""
    )


def _device_of(options, card):
    if options.device or not options.gpu:
        return options.device or _DEFAULT_DEVICE
    if options.cards is None:
        return f"sim:{card.id}"
    return f"sim:{card.total_bytes},context={card.context_bytes}"


def _check(options, kind):
    """The reason why the run cannot start, or None."""
    path = options.script
    if kind in programs.COMMANDS or options.module:
        path = None
    if path is not None and not os.path.exists(path):
        return f"{path}: there is no such file, or command"
    if path is not None and os.path.isdir(path):
        return f"{path}: this is a folder; expected a program"
    for name in ("snapshot", "view", "trace", "json_file"):
        path = getattr(options, name)
        folder = path and os.path.dirname(os.path.abspath(path))
        if path and not os.path.isdir(folder):
            return f"{path}: there is no folder {folder}"
    return None


def _needs(told, options):
    if not told["requests"]:
        return [(options.conf, 0)]
    confs = [options.conf]
    if options.policy == "pytorch":
        confs += [c for c in replays.SETTINGS if c and c not in options.conf]
    return [(conf, replays.need_of(told, options.policy, conf)) for conf in confs]


def _whole(runner, options, card, snapshot):
    """Run the program, and again on a large device if memory ran out."""
    told = runner.run(_device_of(options, card), snapshot=snapshot)
    if not told["ran_out"] or "plan" in told:
        return told
    print(
        "larder run: out of memory; running again on a larger GPU to measure the need",
        file=sys.stderr,
    )
    told = runner.run(ROOMY, quiet=True)
    told["ran_out"] = True
    return told


def _write_files(told, options, snapshot):
    if options.view and os.path.exists(snapshot):
        replays.view(snapshot, options.view)
    if options.trace and os.path.exists(told["trace"]):
        with open(told["trace"], encoding="utf-8") as source:
            with NewFile(options.trace, encoding="utf-8") as target:
                shutil.copyfileobj(source, target)


def _wants_advice(options, said):
    if said == verdict.NO_VERDICT or options.advise == "never":
        return False
    return options.advise == "always" or said == verdict.DOES_NOT_FIT


_PRIVATE = ("trace", "changes_made", "ran_out", "pid", "plan")


def _as_json(told, said, needs, card, cards):
    need = needs[0][1]
    kept = {
        name: value
        for name, value in told.items()
        if name not in _PRIVATE
    }
    kept["verdict"] = said
    kept["fits"] = {verdict.FITS: True, verdict.DOES_NOT_FIT: False}.get(said)
    kept["bound"] = verdict.bound(told)
    kept["scope"] = verdict.scope(told)
    kept["min_capacity_bytes"] = need
    kept["by_category"] = dict(told["kinds"])
    kept["needed_bytes"] = {conf or "default": one for conf, one in needs}
    if said != verdict.NO_VERDICT and cards:
        kept["cards"] = {c.id: verdict.fits(need, c) for c in cards}
    if told["grows_bytes_per_step"] and said == verdict.FITS:
        kept["full_at_step"] = verdict.full_at_step(told, need, card)
    return kept


def _write_text(options, told, needs, card, cards, advised):
    def write(say):
        verdict.write(say, told, needs, card, cards)
        if advised is not None:
            advice.write(say, advised, card)

    if options.text_file:  # of larder.estimate()
        with NewFile(options.text_file, encoding="utf-8") as file:
            write(functools.partial(_say, file=file))
    elif not options.json:
        write(_say)


def _report(runner, options, card, cards):
    snapshot = options.snapshot
    if options.view and not snapshot:
        snapshot = runner.file("snapshot") + ".pickle"
    told = _whole(runner, options, card, snapshot or "")
    if "plan" in told:
        return _report_serving(runner, options, card, told, snapshot)
    taken = table.groups_bytes(told["groups"], options.cards)
    card = table.with_groups(card, taken)
    cards = [table.with_groups(one, taken) for one in cards]
    needs = _needs(told, options)
    _write_files(told, options, snapshot)
    said = verdict.judge(told, needs[0][1], card)
    advised = None
    if told["how"] != "interrupted" and _wants_advice(options, said):
        advised = advice.of(runner, options, told, needs[0][1])
    if options.json:
        report = _as_json(told, said, needs, card, cards)
        if advised is not None:
            report["advice"] = [one._asdict() for one in advised]
        _tell(options, report)
    _write_text(options, told, needs, card, cards, advised)
    if told["how"] == "interrupted":
        return _INTERRUPTED
    return _STATUSES[said]


def _report_serving(runner, options, card, told, snapshot):
    """A serving engine uses all memory that it is given, so the verdict is whether
    it starts."""
    _write_files(told, options, snapshot)
    said = serving_report.judge(told)
    cures = None
    if told["how"] != "interrupted" and _wants_advice(options, said):
        device = _device_of(options, card)
        cures = serving_report.Cures(runner, device, card).of(told["plan"])
    if options.json:
        report = _as_json(told, said, _needs(told, options), card, [])
        if cures is not None:
            report["cures"] = [cure._asdict() for cure in cures]
        _tell(options, report)
    else:
        cards = told["plan"].arguments.get("tensor_parallel_size") or 1
        source = table.serving_source(cards, options.cards)
        serving_report.write(_say, told, said, card, cures, source)
    return _INTERRUPTED if told["how"] == "interrupted" else _STATUSES[said]


def _search(runner, options, card, engine):
    name, low, high = search.parse(options.max)
    looking = search.Search(runner, options, card, _device_of(options, card))
    best = looking.largest(name, low, high)
    if options.json:
        said = verdict.DOES_NOT_FIT if best is None else verdict.FITS
        _tell(
            options,
            {
                "engine": engine, "verdict": said, "fits": best is not None,
                "name": name, "largest": best, "tried": looking.tried,
            },
        )
    else:
        for value in sorted(looking.tried):
            print(f"  --{name} {value:<8} {looking.said(value)}")
        if best is None:
            print(f"--{name} {low} does not fit on {card.name}")
        else:
            print(f"--{name} {best} is the largest of {low} to {high} that fits on {card.name} ({verdict.size(card.total_bytes)})")
    return 1 if best is None else 0


def _stop(number, frame):
    """End the started processes and remove temporary files."""
    raise SystemExit(128 + number)


def main(words=None):
    options = reading.read(sys.argv[1:] if words is None else words)
    kind = programs.kind_of(options)
    why = _check(options, kind)
    if why is not None:
        return _refuse(why)
    try:
        engine = engines.of(options, kind)
        engines.check(options, engine)
        cards = table.read(options.cards)
        card = _card_of(options, cards)
        if options.max:
            search.parse(options.max)
    except ValueError as error:
        return _refuse(error)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _stop)
    runner = Runner(options, card, engine, kind)
    try:
        if options.max:
            status = _search(runner, options, card, engine)
        else:
            status = _report(runner, options, card, cards)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader is gone; buffered output must not be written again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except Failed as failed:
        return failed.args[0]
    except (KeyboardInterrupt, Interrupted):
        return _INTERRUPTED
    except (replays.ReplayError, search.SearchError, OSError) as error:
        return _refuse(error)
    finally:
        runner.close()


if __name__ == "__main__":
    sys.exit(main())
