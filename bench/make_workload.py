#!/usr/bin/env python3
"""Make an allocation trace of a family of GPU programs whose parameters are drawn
from a seed.

    make_workload.py FAMILY SEED [-o FILE]        families: see FAMILIES below, or `all`

The traces are those that `larder replay` runs (larder-replay(1)).  Every draw comes
from the seed, so that a policy can be judged on programs that were not used in its
development: use seeds 1 to 99 freely; the others are for evaluation.
"""
import argparse, math, random, sys

MiB = 1 << 20


class Trace:
    def __init__(self, out):
        self.out, self.next, self.live, self.sum, self.peak = out, 0, {}, 0, 0

    def alloc(self, size, stream=0):
        size = max(1, int(size))
        i = self.next
        self.next += 1
        self.live[i] = size
        self.sum += size
        self.peak = max(self.peak, self.sum)
        self.out.append(f"a {i} {size} {stream}")
        return i

    def free(self, i):
        if i is not None:
            self.sum -= self.live.pop(i)
            self.out.append(f"f {i}")

    def used_on(self, i, stream):
        self.out.append(f"r {i} {stream}")

    def done(self, *streams):
        """Everything queued on these streams has completed."""
        self.out.extend(f"c {s}" for s in streams)

    def temp(self, size, stream=0):
        self.free(self.alloc(size, stream))


def scale(r, low, high):
    return math.exp(r.uniform(math.log(low), math.log(high)))


class Transformer:
    """Weights, gradients, Adam's moments, activations and temporaries of a decoder,
    as eager PyTorch requests them."""

    def __init__(self, t, r, hidden, layers, vocab, half, flash, ckpt, trainable=1.0, lora=0, parameters=True):
        self.t, self.r, self.h, self.n, self.vocab = t, r, hidden, layers, vocab
        self.b = 2 if half else 4
        self.flash, self.ckpt, self.lora = flash, ckpt, lora
        h = hidden
        shapes = [3 * h * h, 3 * h, h * h, h, 4 * h * h, 4 * h, 4 * h * h, h, h, h, h, h]
        self.weights = [s for _ in range(layers) for s in shapes] + [vocab * h, h, h]
        self.params = [t.alloc(s * self.b) for s in self.weights] if parameters else []
        self.trained = ([h * lora for _ in range(layers * 4)] if lora else self.weights)
        if lora:
            self.params += [t.alloc(s * 4) for s in self.trained]
        self.moments, self.grads = None, None

    def layer_forward(self, tokens, seq, keep):
        t, h, b = self.t, self.h, self.b
        kept = []

        def out(n, size=b):
            i = t.alloc(n * size)
            kept.append(i)
            return i
        out(tokens * h); out(tokens, 4); out(tokens, 4)
        qkv = out(tokens * 3 * h)
        heads = max(1, h // 64)
        if self.flash:
            out(tokens * heads, 4)
            out(tokens * h)
        else:
            score = t.alloc(tokens * seq * heads * b)
            out(tokens * seq * heads)
            t.free(score)
            out(tokens * h)
        proj = t.alloc(tokens * h * b)
        out(tokens * h)
        t.free(proj)
        out(tokens * h); out(tokens, 4)
        out(tokens * 4 * h)
        out(tokens * 4 * h)
        down = t.alloc(tokens * h * b)
        res = out(tokens * h)
        t.free(down)
        if self.lora:
            out(tokens * self.lora); out(tokens * self.lora)
        if keep:
            return kept
        for i in kept:
            if i != res:
                t.free(i)
        return [res]

    def layer_backward(self, kept, tokens, seq, grad):
        t, h, b = self.t, self.h, self.b
        if self.ckpt:
            first = kept
            kept = self.layer_forward(tokens, seq, True)
            t.free(first[0])
        g4 = t.alloc(tokens * 4 * h * b)
        t.free(kept.pop())
        g4b = t.alloc(tokens * 4 * h * b)
        t.free(g4)
        g = t.alloc(tokens * h * b)
        t.free(g4b)
        while len(kept) > 4:
            t.free(kept.pop(self.r.randrange(len(kept))) if self.r.random() < .1 else kept.pop())
        g3 = t.alloc(tokens * 3 * h * b)
        t.free(g)
        gnew = t.alloc(tokens * h * b)
        t.free(g3)
        for i in reversed(kept):
            t.free(i)
        t.free(grad)
        return gnew

    def step(self, batch, seq, accumulate=1, fused=False, clear=True):
        t, h = self.t, self.h
        for _ in range(accumulate):
            tokens = batch * seq
            ids = t.alloc(tokens * 8)
            emb = t.alloc(tokens * h * self.b)
            layers = [self.layer_forward(tokens, seq, not self.ckpt) for _ in range(self.n)]
            logits = t.alloc(tokens * self.vocab * self.b)
            up = t.alloc(tokens * self.vocab * 4)
            soft = t.alloc(tokens * self.vocab * 4)
            t.free(up)
            loss = t.alloc(4)
            gl = t.alloc(tokens * self.vocab * self.b)
            t.free(soft); t.free(logits)
            grad = t.alloc(tokens * h * self.b)
            t.free(gl)
            fresh = self.grads is None
            if fresh:
                self.grads = []
            per = max(1, len(self.trained) // self.n)
            for k in range(self.n):
                grad = self.layer_backward(layers.pop(), tokens, seq, grad)
                for j in range(per):
                    size = self.trained[(self.n - 1 - k) * per + j if (self.n - 1 - k) * per + j < len(self.trained) else -1]
                    g = t.alloc(size * self.b)
                    if fresh:
                        self.grads.append(g)
                    else:
                        t.free(g)
            if fresh and not self.lora:
                for size in self.trained[per * self.n:]:
                    self.grads.append(t.alloc(size * self.b))
            t.free(grad); t.free(emb); t.free(ids); t.free(loss)
        if self.moments is None:
            self.moments = [t.alloc(s * 4) for s in self.trained for _ in (0, 1)]
        if fused:
            whole = [t.alloc(s * self.b) for s in self.trained]
            for i in whole:
                t.free(i)
        else:
            for s in self.trained:
                t.temp(s * 4); t.temp(s * 4)
        if clear:
            for g in self.grads:
                t.free(g)
            self.grads = None

    def generate(self, batch, prompt, new, chunk):
        """Keys and values that grow by concatenation, `chunk` tokens at a time."""
        t, h, b = self.t, self.h, self.b
        self.prefill(batch * prompt, prompt)
        cache = [t.alloc(batch * prompt * h * b) for _ in range(2 * self.n)]
        length = prompt
        for step in range(new):
            length += 1
            for k in range(self.n):
                t.temp(batch * 3 * h * b)
                for j in (2 * k, 2 * k + 1):
                    if step % chunk == 0:
                        i = t.alloc(batch * (length + chunk - 1) * h * b)
                        t.free(cache[j])
                        cache[j] = i
                t.temp(batch * length * 4)
                t.temp(batch * 4 * h * b)
            t.temp(batch * self.vocab * 4)
        for i in cache:
            t.free(i)

    def prefill(self, tokens, seq):
        for _ in range(self.n):
            for i in self.layer_forward(tokens, seq, False):
                self.t.free(i)


def model(t, r, giga, **over):
    hidden = r.choice([512, 768, 1024, 1280, 1600, 2048, 2560])
    layers = r.randrange(6, 30)
    while 12 * hidden * hidden * layers * 16 > giga * (1 << 30) and layers > 4:
        layers -= 1
    use = dict(half=r.random() < .6, flash=r.random() < .5, ckpt=r.random() < .3)
    use.update(over)
    return Transformer(t, r, hidden, layers, r.choice([8192, 32000, 50257]), **use)


def train(t, r):
    m = model(t, r, 12)
    batch, longest = r.choice([1, 2, 4, 8]), r.choice([256, 512, 1024])
    vary = r.choice(["fixed", "buckets", "free"])
    accumulate, fused, clear = r.choice([1, 1, 2, 4]), r.random() < .4, r.random() < .7
    while len(t.out) < 60000:
        seq = {"fixed": longest, "buckets": r.choice([longest // 4, longest // 2, longest]), "free": r.randrange(longest // 8, longest + 1)}[vary]
        m.step(batch, seq, accumulate, fused, clear)
        if r.random() < .1:
            m.prefill(batch * longest, longest)


def finetune(t, r):
    m = model(t, r, 24, half=True, lora=r.choice([4, 8, 16, 64]), ckpt=r.random() < .6)
    longest = r.choice([512, 1024, 2048])
    while len(t.out) < 60000:
        m.step(r.choice([1, 2, 4]), max(16, int(longest * r.betavariate(2, 3))), r.choice([1, 4]))


def serve(t, r):
    m = model(t, r, 16, half=True, ckpt=False)
    block = r.choice([16, 64, 256]) * m.h * 2 * 2
    running = []
    limit = r.randrange(20, 400)
    while len(t.out) < 120000:
        if len(running) < limit and r.random() < .3:
            prompt = int(scale(r, 16, 3000))
            m.prefill(prompt, prompt)
            running.append([[t.alloc(block * m.n // 4) for _ in range(1 + prompt // 64)], int(scale(r, 8, 800))])
        for q in running:
            if r.random() < .2:
                q[0].append(t.alloc(block * m.n // 4))
            q[1] -= 1
        for q in [q for q in running if q[1] <= 0]:
            for i in q[0]:
                t.free(i)
            running.remove(q)
        n = max(1, len(running))
        for _ in range(m.n):
            t.temp(n * m.h * 6); t.temp(n * m.h * 8)
        t.temp(n * m.vocab * 4)


def generate(t, r):
    m = model(t, r, 8, half=True, ckpt=False)
    chunk = r.choice([1, 1, 8, 32])
    while len(t.out) < 120000:
        m.generate(r.choice([1, 2, 4, 8]), int(scale(r, 16, 800)), int(scale(r, 16, 200)), chunk)


def reinforce(t, r):
    m = model(t, r, 8, half=True)
    empties = r.random() < .5
    while len(t.out) < 120000:
        m.generate(4, int(scale(r, 32, 400)), 60, r.choice([1, 16]))
        if empties:
            t.out.append("e")
        for _ in range(r.randrange(1, 4)):
            m.step(r.choice([1, 2]), int(scale(r, 64, 500)))
        if empties:
            t.out.append("e")


def convolution(t, r):
    base, depth, half = r.choice([32, 48, 64, 96]), r.randrange(3, 6), r.random() < .5
    b = 2 if half else 4
    params, ema = [], r.random() < .5
    for d in range(depth):
        c = base << d
        for _ in range(4):
            params += [c * c * 9, c, c]
    held = [t.alloc(s * 4) for s in params for _ in range(4 if ema else 3)]
    sizes = [r.randrange(6, 20) * 32 for _ in range(r.choice([1, 4, 12]))]
    batch = r.choice([1, 2, 4, 8])
    while len(t.out) < 60000:
        side = r.choice(sizes)
        kept, skips = [], []
        image = t.alloc(batch * 3 * side * side * 4)
        for d in range(depth):
            c, n = base << d, batch * (side >> d) ** 2
            for _ in range(4):
                w = t.alloc(scale(r, 1, 60) * MiB)
                kept.append(t.alloc(n * c * b)); t.free(w)
                kept.append(t.alloc(c * 4)); kept.append(t.alloc(c * 4)); kept.append(t.alloc(n * c * b))
            skips.append(t.alloc(n * c * b))
        for d in reversed(range(depth)):
            c, n = base << d, batch * (side >> d) ** 2
            kept.append(t.alloc(2 * n * c * b)); kept.append(t.alloc(n * c * b))
        if r.random() < .5:
            for _ in range(r.randrange(1, 60)):
                t.temp(scale(r, 1000, 4 * MiB))
        grad = t.alloc(batch * base * side * side * b)
        while kept:
            i = kept.pop()
            g = t.alloc(t.live[i]); t.free(i); t.free(grad); grad = g
            if r.random() < .3:
                t.temp(scale(r, 1, 60) * MiB)
        t.free(grad)
        for i in skips:
            t.free(i)
        t.free(image)
        for s in params:
            t.temp(s * 4)
    for i in held:
        t.free(i)


def graph(t, r):
    held = [t.alloc(scale(r, 1, 900) * MiB) for _ in range(r.randrange(2, 8))]
    width = r.choice([64, 128, 256, 602])
    while len(t.out) < 80000:
        nodes, kept = int(scale(r, 500, 8000)), []
        for _ in range(r.randrange(2, 4)):
            edges = int(nodes * scale(r, 3, 20))
            index = t.alloc(edges * 16); gather = t.alloc(edges * width * 4); total = t.alloc(nodes * width * 4)
            t.free(gather); t.free(index)
            kept += [total, t.alloc(nodes * width * 4)]
            nodes = max(64, int(nodes / scale(r, 2, 6)))
            for _ in range(r.randrange(3, 20)):
                t.temp(scale(r, 500, 200000))
        while kept:
            i = kept.pop(); g = t.alloc(t.live[i]); t.free(i); t.free(g)


def experts(t, r):
    m = model(t, r, 10, half=True)
    count, k = r.choice([8, 16, 64]), r.choice([1, 2])
    size = m.h * m.h * 2
    weights = [t.alloc(size * 2) for _ in range(min(count, 32) * 2)]
    while len(t.out) < 80000:
        tokens = r.choice([1024, 2048, 4096])
        kept = []
        for _ in range(m.n):
            kept += m.layer_forward(tokens, 512, False)
            left = tokens * k
            for _ in range(min(count, 16)):
                n = min(left, int(r.expovariate(count / (tokens * k)))) + 1
                left -= n
                kept += [t.alloc(n * m.h * 2), t.alloc(n * 4 * m.h * 2)]
                t.temp(n * 4 * m.h * 2)
        while kept:
            i = kept.pop(); g = t.alloc(t.live[i]); t.free(i); t.free(g)
    for i in weights:
        t.free(i)


def overlapped(t, r):
    """A compute stream, a copy stream that feeds it, and a communication stream that reduces buckets of gradients."""
    m = model(t, r, 6)
    bucket = r.choice([5, 25, 50]) * MiB
    ahead = []
    while len(t.out) < 80000:
        while len(ahead) < 3:
            ahead.append(t.alloc(scale(r, 1, 60) * MiB, 1))
        batch = ahead.pop(0)
        t.used_on(batch, 0)
        m.step(2, int(scale(r, 64, 400)))
        buckets = [t.alloc(bucket * r.uniform(.6, 1.2)) for _ in range(r.randrange(2, 10))]
        for i in buckets:
            t.used_on(i, 2)
            out = t.alloc(t.live[i], 2)
            t.used_on(out, 0)
            t.free(i)
            t.free(out)
        t.free(batch)
        t.done(0, 1, 2)


def churn(t, r):
    streams = r.choice([1, 2, 4])
    target = scale(r, 1, 40) * 1024 * MiB
    low, high = scale(r, 500, 100000), scale(r, 8, 800) * MiB
    live = []
    while len(t.out) < 80000:
        size = scale(r, low, high)
        if t.sum + size < target and (r.random() < .6 or not live):
            live.append(t.alloc(size, r.randrange(streams)))
        elif live:
            at = r.randrange(len(live)) if r.random() < .5 else max(0, len(live) - 1 - int(r.expovariate(.1)))
            i = live.pop(at)
            if streams > 1 and r.random() < .1:
                t.used_on(i, r.randrange(streams))
            t.free(i)
        if streams > 1 and r.random() < .02:
            t.done(*range(streams))


FAMILIES = {f.__name__: f for f in (train, finetune, serve, generate, reinforce, convolution, graph, experts, overlapped, churn)}


def make(family, seed):
    lines = []
    t = Trace(lines)
    FAMILIES[family](t, random.Random(f"{family} {seed}"))
    for i in sorted(t.live):
        t.free(i)
    return lines, t.peak


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("family", choices=[*FAMILIES, "all"])
    p.add_argument("seed", type=int)
    p.add_argument("-o", "--output", help="file, or with `all` the start of the files' names")
    o = p.parse_args()
    for family in FAMILIES if o.family == "all" else [o.family]:
        lines, peak = make(family, o.seed)
        text = f"# {family} {o.seed}, peak requested {peak}\n" + "\n".join(lines) + "\n"
        if o.output:
            open(o.output + (f"{family}_{o.seed}.trace" if o.family == "all" else ""), "w").write(text)
        else:
            sys.stdout.write(text)


if __name__ == "__main__":
    main()
