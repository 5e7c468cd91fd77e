"""How fast the novelty filter is: against comparing each vector with all kept ones by numpy, and against the plain blocked product.

Random vectors of unit length, 5 % of them near copies of earlier ones; 384 wide as all-MiniLM-L6-v2 gives them. The greedy loop is the
peer; the blocked product of all pairs, which decides nothing, is the limit. Last line: JSON, `ours` and `peer` in seconds.

    python benchmarks/novelty.py --vectors 100000
"""

import argparse
import json
import resource
import time

import numpy as np

from clawgym.quality.novelty import BLOCK, keep_first

WIDTH, THRESHOLD = 384, 0.9


def vectors(count: int) -> np.ndarray:
    """(count, WIDTH) float32 of unit length."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((count, WIDTH), dtype=np.float32)
    copies = rng.choice(np.arange(1, count), count // 20, replace=False)
    rows[copies] = rows[(copies * rng.random(len(copies))).astype(int)] + 0.01 * rows[copies]
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def greedy(rows: np.ndarray) -> np.ndarray:
    """Which rows are new, each compared with all kept ones before it."""
    new, pool, size = np.zeros(len(rows), bool), np.empty_like(rows), 0
    for index, row in enumerate(rows):
        if not size or (pool[:size] @ row).max() < THRESHOLD:
            new[index], pool[size] = True, row
            size += 1
    return new


def product(rows: np.ndarray) -> float:
    """The blocked product of every row with all rows before it and in its block; only the largest value is kept."""
    return max(float((rows[start : start + BLOCK] @ rows[: start + BLOCK].T).max()) for start in range(0, len(rows), BLOCK))


def timed(function, rows: np.ndarray):
    start = time.perf_counter()
    result = function(rows)
    return time.perf_counter() - start, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", type=int, default=100_000)
    rows = vectors(parser.parse_args().vectors)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ours, novelty = timed(lambda rows: keep_first(rows, THRESHOLD), rows)
    beyond = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20
    limit, _ = timed(product, rows)
    peer, new = timed(greedy, rows)
    if not np.array_equal(new, novelty.new):
        raise SystemExit("the two disagree on what is new")
    share = f"{ours / limit:.2f} of the blocked product's {limit:.1f} s"
    print(f"{new.sum()} of {len(rows)} are new by both; {share}; {beyond:.2f} GiB beyond the vectors")
    print(json.dumps({"name": "novelty", "ours": round(ours, 2), "peer": round(peer, 2), "ratio": round(peer / ours, 2), "target": 6.0}))


if __name__ == "__main__":
    main()
