"""python3 -m larder.fit: implements `larder run`."""

import importlib.util
import json
import os
import shutil
import sys

from larder._files import NewFile
from larder.fit import cards as table
from larder.fit import options as reading
from larder.fit import advice, replays, search, verdict
from larder.fit.running import ROOMY, Failed, Runner

_DEFAULT_DEVICE = "sim:24GiB"


def _refuse(why):
    print(f"larder run: {why}", file=sys.stderr)
    return 2


def _say(line):
    print(line)


def _card_of(options, cards):
    """The GPU to simulate: a card of the table, or one of a given size."""
    from larder.fit import sizes

    if options.gpu:
        return table.find(cards, options.gpu)
    spec = options.device or _DEFAULT_DEVICE
    return table.Card(
        "", f"a simulated GPU", sizes.of_spec(spec), 0, (8, 0), 108, ""
    )


def _device_of(options, card):
    if options.device or not options.gpu:
        return options.device or _DEFAULT_DEVICE
    return f"sim:{card.total_bytes},context={card.context_bytes}"


def _check(options):
    """The reason why the run cannot start, or None."""
    if not options.module and not os.path.exists(options.script):
        return f"{options.script}: there is no such file"
    if not options.module and os.path.isdir(options.script):
        return f"{options.script}: this is a folder; expected a program"
    if importlib.util.find_spec("torch") is None:
        return (
            f"{sys.executable} has no PyTorch: pip install torch (a build "
            "for processors will do), or LARDER_PYTHON names another Python"
        )
    for name in ("snapshot", "view", "trace"):
        path = getattr(options, name)
        folder = path and os.path.dirname(os.path.abspath(path))
        if path and not os.path.isdir(folder):
            return f"{path}: there is no folder {folder}"
    return None


def _needs(told, options):
    confs = [options.conf]
    if options.policy == "pytorch":
        confs += [c for c in replays.SETTINGS if c and c not in options.conf]
    return [
        (conf, replays.needed_bytes(told["trace"], options.policy, conf))
        for conf in confs
    ]


def _whole(runner, options, card, snapshot):
    """Run the program, and again on a large device if memory ran out."""
    told = runner.run(_device_of(options, card), snapshot=snapshot)
    if told["how"] != "out of memory":
        return told
    print(
        "larder run: memory ran out; once more with plenty, to see what is "
        "needed",
        file=sys.stderr,
    )
    return runner.run(ROOMY, quiet=True)


def _write_files(told, options, snapshot):
    if options.view:
        replays.view(snapshot, options.view)
        if not options.snapshot:
            os.unlink(snapshot)
    if options.trace:
        with open(told["trace"], encoding="utf-8") as source:
            with NewFile(options.trace, encoding="utf-8") as target:
                shutil.copyfileobj(source, target)


def _wants_advice(options, told, good):
    if told["how"] == "failed" or options.advise == "never":
        return False
    return options.advise == "always" or not good


def _report(runner, options, card, cards):
    snapshot = options.snapshot or (
        f"{options.view}.pickle" if options.view else ""
    )
    told = _whole(runner, options, card, snapshot)
    taken = table.groups_bytes(told["groups"], options.cards)
    card = table.with_groups(card, taken)
    cards = [table.with_groups(one, taken) for one in cards]
    needs = _needs(told, options)
    _write_files(told, options, snapshot)
    good = verdict.fits(needs[0][1], card) and told["how"] != "failed"
    advised = None
    if _wants_advice(options, told, good):
        advised = advice.of(runner, options, told, needs[0][1])
    if options.json:
        told["needed_bytes"] = {conf or "default": need for conf, need in needs}
        told["fits"] = good
        told["cards"] = {c.id: verdict.fits(needs[0][1], c) for c in cards}
        del told["trace"], told["changes_made"]
        if advised is not None:
            told["advice"] = [one._asdict() for one in advised]
        print(json.dumps(told))
    else:
        verdict.write(_say, told, needs, card, cards)
        if advised is not None:
            advice.write(_say, advised, needs[0][1], card)
    return 0 if good else 1


def _search(runner, options, card):
    name, low, high = search.parse(options.max)
    looking = search.Search(runner, options, card)
    best = looking.largest(name, low, high)
    if options.json:
        print(json.dumps({"name": name, "largest": best, "tried": looking.tried}))
    else:
        for value in sorted(looking.tried):
            need = verdict.whole_bytes(looking.tried[value], card)
            print(f"  --{name} {value:<8} {verdict.size(need)}")
        if best is None:
            print(f"--{name} {low} does not fit on {card.name}")
        else:
            print(f"--{name} {best} is the largest of {low} to {high} that fits on {card.name} ({verdict.size(card.total_bytes)})")
    return 1 if best is None else 0


def main():
    options = reading.parser().parse_args()
    why = _check(options)
    if why is not None:
        return _refuse(why)
    try:
        cards = table.read(options.cards)
        card = _card_of(options, cards)
        if options.max:
            search.parse(options.max)
    except ValueError as error:
        return _refuse(error)
    runner = Runner(options, card)
    try:
        if options.max:
            return _search(runner, options, card)
        return _report(runner, options, card, cards)
    except Failed as failed:
        return failed.args[0]
    except (replays.ReplayError, search.SearchError, OSError) as error:
        return _refuse(error)
    finally:
        runner.close()


if __name__ == "__main__":
    sys.exit(main())
