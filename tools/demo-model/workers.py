"""Training by several single-threaded processes that share one set of parameters.

On two cores that other programs use as well this is about twice as fast as one process with two threads, whose threads
wait for one another in every operator. Each process computes gradients of its own share of a step; then each updates its
own range of parameters with the mean of all. What a step draws depends on the seed, the step and the process alone, so a
run that was killed goes on as it would have.
"""
import ctypes
import fcntl
import os
import signal
import time
from dataclasses import dataclass

import torch
import torch.multiprocessing as multiprocessing
from torch import nn


@dataclass
class Settings:
    state: str              # folder of checkpoints and logs
    name: str               # theirs
    steps: int              # to train in all
    decay: int              # the last of them, in which the learning rate falls to zero
    rate: float             # learning rate
    warmup: int = 200
    decay_weights: float = 0.0
    beta2: float = 0.98
    average: float = 0.995  # of the exponential mean of parameters
    clip: float = 1.0       # greatest norm of a gradient
    workers: int = 2
    seed: int = 1
    pause_file: str = ""    # sleeps while this file exists
    save_every: float = 90  # seconds
    look_every: int = 2000  # steps


def learning_rate(s, step):
    """Warm-up, a plateau as long as one likes, a straight fall."""
    return s.rate * min(1.0, (step + 1) / s.warmup) * min(1.0, (s.steps - step) / max(1, s.decay))


class Flat:
    """Parameters of a module in one row, convolutions with channels innermost."""

    def __init__(self, module):
        self.names, self.shapes, self.ends, size = [], [], [], 0
        for name, parameter in module.named_parameters():
            size += parameter.numel()
            self.names.append(name)
            self.shapes.append(parameter.shape)
            self.ends.append(size)
        self.size = size

    def views(self, row):
        begin = 0
        for shape, end in zip(self.shapes, self.ends):
            piece = row[begin:end]
            if len(shape) == 4:
                yield piece.view(shape[0], shape[2], shape[3], shape[1]).permute(0, 3, 1, 2)
            else:
                yield piece.view(shape)
            begin = end

    def read(self, module, row):
        for parameter, view in zip(module.parameters(), self.views(row)):
            view.copy_(parameter.detach())

    def lend(self, module, row, gradients=None):
        """The module's parameters become places of the row."""
        for parameter, view in zip(module.parameters(), self.views(row)):
            parameter.data = view
        if gradients is not None:
            for parameter, view in zip(module.parameters(), self.views(gradients)):
                parameter.grad = view

    def range_of(self, worker, workers):
        """Whole parameters, about the same number of values for each worker."""
        cuts = [0] + [min(self.ends, key=lambda end: abs(end - self.size * i / workers)) for i in range(1, workers)]
        cuts.append(self.size)
        return cuts[worker], cuts[worker + 1]


class Shared:
    """What all processes see."""

    def __init__(self, size, workers):
        def row(count=size):
            return torch.zeros(count).share_memory_()
        self.parameters, self.average, self.first, self.second = row(), row(), row(), row()
        self.gradients = [row() for _ in range(workers)]
        self.norms, self.losses = row(workers), row(workers)
        self.progress = torch.zeros(2, dtype=torch.float64).share_memory_()  # steps done, seconds spent


def checkpoint_path(s):
    return os.path.join(s.state, s.name + ".checkpoint")


def save(s, flat, shared):
    path = checkpoint_path(s)
    kept = {"names": flat.names, "shapes": [list(shape) for shape in flat.shapes], "progress": shared.progress.clone()}
    for part in ("parameters", "average", "first", "second"):
        kept[part] = getattr(shared, part).clone()
    torch.save(kept, path + ".part")
    os.replace(path + ".part", path)


def restore(s, flat, shared):
    """False where there is nothing to go on from."""
    if not os.path.exists(checkpoint_path(s)):
        return False
    kept = torch.load(checkpoint_path(s))
    if kept["names"] != flat.names or kept["shapes"] != [list(shape) for shape in flat.shapes]:
        raise SystemExit("%s is of another model: use another folder" % checkpoint_path(s))
    for part in ("parameters", "average", "first", "second", "progress"):
        getattr(shared, part).copy_(kept[part])
    return True


def load_average(state, name, module):
    """The exponential mean of a trained module's parameters; returns the steps it was trained."""
    kept = torch.load(os.path.join(state, name + ".checkpoint"))
    flat = Flat(module)
    if kept["names"] != flat.names:
        raise SystemExit("the checkpoint of %s is of another model" % name)
    with torch.no_grad():
        for parameter, view in zip(module.parameters(), flat.views(kept["average"])):
            parameter.copy_(view)
    return int(kept["progress"][0])


def compiled(function):
    """Fused loops instead of one operator after the other: nearly twice as fast. PyTorch 1 has no such thing."""
    return torch.compile(function) if hasattr(torch, "compile") else function


def compile_each(modules):
    """The same for modules of a kind: compiled once, used for all of them."""
    for module in modules:
        if hasattr(module, "compile"):
            module.compile()


def wait_while_paused(path):
    begin = time.time()
    while path and os.path.exists(path):
        time.sleep(2)
    return time.time() - begin


def adam(s, shared, begin, end, gradient, step):
    """One update of parameters begin to end, in place. gradient: of these."""
    parameters = shared.parameters[begin:end]
    first, second = shared.first[begin:end], shared.second[begin:end]
    first.lerp_(gradient, 1 - 0.9)
    second.mul_(s.beta2).addcmul_(gradient, gradient, value=1 - s.beta2)
    rate = learning_rate(s, step)
    scale = (second / (1 - s.beta2 ** (step + 1))).sqrt_().add_(1e-8)
    if s.decay_weights:
        parameters.mul_(1 - rate * s.decay_weights)
    parameters.addcdiv_(first, scale, value=-rate / (1 - 0.9 ** (step + 1)))
    shared.average[begin:end].lerp_(parameters, 1 - min(s.average, (step + 1) / (step + 10)))


def report(s, text):
    line = time.strftime("%H:%M:%S ") + text
    print(line, flush=True)
    with open(os.path.join(s.state, s.name + ".log"), "a", encoding="utf-8") as file:
        file.write(line + "\n")


def work(rank, task, s, shared, barrier):
    """One process. task(s) makes an object with
    .module             what is trained
    .loss(generator)    of a batch of one process
    .make()             another such module, for looking at
    .look(module, step) -> text, how good it is
    """
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # ends with the process that started it, however that ends
    torch.set_num_threads(1)
    torch.manual_seed(s.seed)
    job = task(s)
    flat = Flat(job.module)
    gradients = shared.gradients[rank]
    flat.lend(job.module, shared.parameters, gradients)
    begin, end = flat.range_of(rank, s.workers)
    generator = torch.Generator()
    saved = mark = time.time()
    mean, ready = None, rank != 0
    if rank != 0:
        barrier.wait()  # the first process compiles, the others find it done
    for step in range(int(shared.progress[0]), s.steps):
        if rank == 0:
            mark += wait_while_paused(s.pause_file)
        generator.manual_seed((s.seed * 1000003 + step) * 64 + rank)
        gradients.zero_()
        loss = job.loss(generator)
        loss.backward()
        if not ready:
            barrier.wait()
            ready = True
        shared.losses[rank] = loss.detach()
        barrier.wait()
        mine = sum(g[begin:end] for g in shared.gradients) / s.workers
        shared.norms[rank] = mine.norm()
        barrier.wait()
        norm = float(shared.norms.norm())
        if norm < 1e4:  # NaN included: one bad batch must not spoil the parameters
            adam(s, shared, begin, end, mine.mul_(min(1.0, s.clip / (norm + 1e-6))), step)
        barrier.wait()
        if rank != 0:
            continue
        now = time.time()
        shared.progress[0] = step + 1
        shared.progress[1] += now - mark
        mark = now
        loss = float(shared.losses.mean())
        mean = loss if mean is None else mean + (loss - mean) * 0.01
        if (step + 1) % 200 == 0:
            report(s, "%s step %d, %.0f s, loss %.4f, gradient %.2f, rate %.2e" % (
                s.name, step + 1, shared.progress[1], mean, norm, learning_rate(s, step)))
        if now - saved > s.save_every or step + 1 == s.steps:
            save(s, flat, shared)
            saved = now
        if (step + 1) % s.look_every == 0 or step + 1 == s.steps:
            look(s, job, flat, shared, step + 1)
            mark = time.time()


def look(s, job, flat, shared, step):
    """Judges the mean parameters."""
    with torch.no_grad():
        module = job.make()
        flat.lend(module, shared.average.clone())
        report(s, "%s step %d: %s" % (s.name, step, job.look(module, step)))


def train(task, s):
    """Goes on from the checkpoint, if there is one, to s.steps."""
    os.makedirs(s.state, exist_ok=True)
    lock = open(os.path.join(s.state, s.name + ".lock"), "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise SystemExit("somebody else is training %s in %s" % (s.name, s.state))
    torch.manual_seed(s.seed)
    module = task(s).module
    flat = Flat(module)
    shared = Shared(flat.size, s.workers)
    if not restore(s, flat, shared):
        flat.read(module, shared.parameters)
        shared.average.copy_(shared.parameters)
    report(s, "%s: %d parameters, from step %d to %d" % (s.name, flat.size, int(shared.progress[0]), s.steps))
    if shared.progress[0] >= s.steps:
        return
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(s.workers)
    processes = [context.Process(target=work, args=(i, task, s, shared, barrier)) for i in range(s.workers)]
    for process in processes:
        process.start()
    while any(process.is_alive() for process in processes):
        if any(process.exitcode not in (None, 0) for process in processes):
            for process in processes:
                process.kill()
            raise SystemExit("a worker has failed")
        time.sleep(1)
