"""How fast a student is served here: `transformers serve` as it is, and with the attention of clawgym/client/serve.py.

Both servers, one after the other, answer the same recorded requests of a bench, 48 in flight. Prints how many answers are the same text
and, as the last line, completion tokens per second of both as JSON. Needs what the stage `bench` leaves, and the machine to itself:

    python benchmarks/serving.py --checkpoint results/training/baseline/sft/checkpoint --captures results/bench/rollouts/sft/captures
"""

import argparse
import asyncio
import json
import sys
import time
from pathlib import Path

from openai import AsyncOpenAI

from clawgym.client import endpoints
from clawgym.config import Model, Serving
from clawgym.tables import read_jsonl

SERVING = Serving()
OURS = endpoints.SERVER


def recorded(captures: Path, limit: int) -> list[dict]:
    """Messages and tools of the first `limit` calls, rollout by rollout."""
    records = (record for path in sorted(captures.glob("*.jsonl.zst")) for record in read_jsonl(path))
    return [{"messages": r["request"]["messages"], "tools": r["request"]["tools"]} for r in records if r["kind"] == "call"][:limit]


async def measure(checkpoint: Path, requests: list[dict], program: Path, log: Path) -> tuple[float, list]:
    """Completion tokens per second and the answers, with `program` as the server."""
    endpoints.SERVER = program
    in_flight = asyncio.Semaphore(SERVING.concurrency)
    async with endpoints.serve(Model(base_url="checkpoint", model=str(checkpoint)), log=log, arguments=SERVING.arguments) as url:
        client = AsyncOpenAI(base_url=url, api_key="none", timeout=3600, max_retries=0)

        async def ask(request: dict):
            async with in_flight:
                return await client.chat.completions.create(
                    model=str(checkpoint), max_tokens=SERVING.max_tokens, temperature=SERVING.temperature, **request
                )

        await ask(requests[0])
        start = time.perf_counter()
        answers = await asyncio.gather(*map(ask, requests))
        seconds = time.perf_counter() - start
    messages = [answer.choices[0].message for answer in answers]
    texts = [(m.content, [(call.function.name, call.function.arguments) for call in m.tool_calls or []]) for m in messages]
    return sum(answer.usage.completion_tokens for answer in answers) / seconds, texts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--captures", type=Path, required=True)
    parser.add_argument("--requests", type=int, default=48, help="how many (default: %(default)s)")
    parser.add_argument("--log", type=Path, default=Path("results/logs/benchmarks/serving.log"), help="what the servers print")
    options = parser.parse_args()
    requests = recorded(options.captures, options.requests)
    stock, stock_texts = asyncio.run(measure(options.checkpoint, requests, Path(sys.executable).with_name("transformers"), options.log))
    ours, texts = asyncio.run(measure(options.checkpoint, requests, OURS, options.log))
    same = sum(a == b for a, b in zip(stock_texts, texts, strict=True))
    print(f"{same} of {len(texts)} answers are the same text; {SERVING.concurrency} requests in flight; tokens per second:")
    print(json.dumps({"name": "serving", "ours": round(ours, 1), "peer": round(stock, 1), "ratio": round(ours / stock, 2), "target": 2.0}))


if __name__ == "__main__":
    main()
