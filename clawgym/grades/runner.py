"""Runs a grader inside the sandbox: the job comes as JSON on stdin, results go out as lines that begin with the job's nonce.

The result goes to a duplicate of stdout that no child inherits. The nonce lies only in this process, which is not dumpable: its memory
and descriptors are closed to others of the same user. Several states share the interpreter's start and the grader's imports: each is
graded in a fork of its own, with its own time. Standard library only.
"""

import ctypes
import json
import os
import select
import signal
import sys

PR_SET_DUMPABLE = 4


def number(score):
    return score if isinstance(score, (bool, int, float)) else repr(score)[:80]


def crash(error):
    place = error.__traceback__
    while place.tb_next:
        place = place.tb_next
    return {"error": "crash", "detail": f"{type(error).__name__}: {str(error)[:300]} (line {place.tb_lineno})"}


def load(code):
    """The grader's `grade`, or how it failed to load."""
    space = {"__name__": "grader"}
    try:
        exec(compile(code, "grader.py", "exec"), space)
        return space["grade"], None
    except BaseException as error:
        return None, crash(error)


def result(grade, workspace, transcript):
    try:
        os.chdir(workspace)
        scores = grade(transcript, workspace)
        if isinstance(scores, dict):
            named = {str(name)[:200]: number(score) for name, score in scores.items()}
            if len(named) == len(scores):
                return {"scores": named}
            return {"error": "invalid", "detail": "two checks have the same name"}
        return {"error": "invalid", "detail": f"grade() returned {type(scores).__name__}, not a dict"}
    except BaseException as error:
        return crash(error)


def main():
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    job = json.loads(sys.stdin.buffer.read())
    channel = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(2, 1)

    def answer(index, found):
        data = (job["nonce"] + json.dumps(found | {"index": index}) + "\n").encode()
        while data:
            data = data[os.write(channel, data) :]

    grade, broken = load(job["code"])
    for index, (workspace, transcript) in enumerate(job["states"]):
        child = os.fork() if len(job["states"]) > 1 else 0
        if not child:
            answer(index, broken or result(grade, workspace, transcript))
            os._exit(0)
        waiting = select.poll()
        waiting.register(os.pidfd_open(child), select.POLLIN)
        if not waiting.poll(job["wall_s"] * 1000):
            answer(index, {"error": "timeout", "detail": ""})
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    os._exit(0)


if __name__ == "__main__":
    main()
