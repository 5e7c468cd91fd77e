"""What a runtime relies on: agents use what is offered, survive errors and foreign wording, and need nothing but the messages."""

import json

import pytest

from tests.offline import play

WRITE_NOTE = {"instruction": 'Save "bolts: 42 left" in notes/bolts.txt.', "files": [], "expected_outputs": ["notes/bolts.txt"]}


def first_call(messages: list[dict], offered: list[dict], model: str = "strong") -> tuple[str, dict]:
    call = play.say(model, messages, tools=offered)["tool_calls"][0]["function"]
    return call["name"], json.loads(call["arguments"])


def user(text: str) -> list[dict]:
    return [{"role": "user", "content": text}]


@pytest.mark.parametrize("offered", [("read", "write"), ("exec",), ("read", "exec")])
@pytest.mark.parametrize("kind", ["copy-field", "join-tables", "merge-settings", "file-documents"])
def test_only_the_offered_tools_are_used(kind, offered, tmp_path):
    for draw in range(4):
        task = play.author(kind, draw)
        folder = play.lay_out(task, tmp_path / str(draw))
        messages = play.roll(task, "strong", folder, offered=play.tools(*offered))
        used = {call["function"]["name"] for message in messages for call in message.get("tool_calls") or []}
        assert used <= set(offered)
        if kind != "file-documents" or "exec" in offered:
            assert play.mean(play.grade([(task, folder)])[0]) == 1.0
        else:
            assert "cannot" in messages[-1]["content"]


def test_argument_names_come_from_the_schemas():
    schema = {"type": "object", "properties": {"file_path": {"type": "string"}, "text": {"type": "string"}}}
    offered = [{"type": "function", "function": {"name": name, "parameters": schema}} for name in ("read", "write")]
    assert first_call(user(WRITE_NOTE["instruction"]), offered) == ("write", {"file_path": "notes/bolts.txt", "text": "bolts: 42 left\n"})


def test_a_number_in_the_prompt_reaches_the_call():
    offered = play.tools("read", "write")
    for number in ("42", "43"):
        _, arguments = first_call(user(f'Save "bolts: {number} left" in notes/bolts.txt.'), offered)
        assert arguments["content"].strip() == f"bolts: {number} left"


def test_a_runtime_may_wrap_the_conversation():
    """A date before the task, text after it, rewritten call ids and a message of the runtime's own at the end."""
    offered = play.tools("read", "write")
    task = "[Mon 2026-03-02 10:00 UTC] Read note.txt and write the value of chair to out/chair.txt.\nRuntime: host=x | os=linux"
    call = {"id": "call01", "type": "function", "function": {"name": "read", "arguments": '{"path":"note.txt"}'}}
    messages = [
        {"role": "system", "content": "You are an agent."},
        {"role": "user", "content": [{"type": "text", "text": task}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_0_1", "content": "date: 2026-01-02\nchair: Ada Finch\n"},
        {"role": "user", "content": "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>> nothing new"},
    ]
    assert first_call(messages, offered) == ("write", {"path": "out/chair.txt", "content": "Ada Finch\n"})


def test_worked_examples_before_the_task_do_not_count():
    offered = play.tools("read", "write")
    call = {"id": "a", "type": "function", "function": {"name": "write", "arguments": '{"path": "x.txt", "content": "old"}'}}
    example = [
        {"role": "user", "content": 'Save "old" in x.txt.'},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "wrote 3 bytes"},
        {"role": "assistant", "content": "Done."},
    ]
    assert first_call(example + user('Save "new" in x.txt.'), offered)[1]["content"] == "new\n"


@pytest.mark.parametrize("result", ["error: no such file or folder: note.txt", '{\n  "status": "error",\n  "error": "ENOENT"\n}', ""])
def test_a_missing_or_unusable_input_ends_in_an_honest_answer(result):
    call = {"id": "a", "type": "function", "function": {"name": "read", "arguments": '{"path": "note.txt"}'}}
    messages = [
        *user("Read note.txt and write the value of chair to out/chair.txt."),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": result},
    ]
    message = play.say("strong", messages, tools=play.tools())
    assert not message.get("tool_calls") and "cannot" in message["content"]
    assert play.say("weak", messages, tools=play.tools())["role"] == "assistant"


def test_a_file_that_speaks_of_errors_is_no_error():
    call = {"id": "a", "type": "function", "function": {"name": "read", "arguments": '{"path": "n.txt"}'}}
    messages = [
        *user("Read n.txt and write the value of errors to out/e.txt."),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "errors: 31\nhost: AB-123\n"},
    ]
    assert first_call(messages, play.tools())[1]["content"] == "31\n"


def test_writing_that_keeps_failing_is_given_up():
    messages = user(WRITE_NOTE["instruction"])
    for _ in range(6):
        message = play.say("strong", messages, tools=play.tools("read", "write"))
        messages.append(message)
        if not message.get("tool_calls"):
            break
        call = message["tool_calls"][0]
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": "error: OSError: disk full"})
    assert "could not write notes/bolts.txt" in messages[-1]["content"] and len(messages) == 6


@pytest.mark.parametrize("model", ["strong", "weak"])
def test_foreign_wording_gets_a_short_honest_attempt(model, tmp_path):
    task = {"instruction": "Design a landing page for our bakery and put it in site/index.html.", "files": []}
    messages = play.roll(task, model, tmp_path)
    assert len(messages) <= 6 and "cannot" in messages[-1]["content"]


def test_tool_calls_nobody_can_parse_are_no_crash():
    call = {"id": "a", "type": "function", "function": {"name": "write", "arguments": '{"path": '}}
    messages = [
        *user(WRITE_NOTE["instruction"]),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "unknown", "content": "error: arguments are not JSON"},
    ]
    assert first_call(messages, play.tools())[0] == "write"


def test_weak_errs_differently_with_another_seed():
    offered = play.tools()
    answers = {json.dumps(play.say("weak", user(WRITE_NOTE["instruction"]), tools=offered, seed=seed)["content"]) for seed in range(12)}
    calls = {
        message["tool_calls"][0]["function"]["arguments"]
        for seed in range(12)
        if (message := play.say("weak", user(WRITE_NOTE["instruction"]), tools=offered, seed=seed)).get("tool_calls")
    }
    assert len(answers) > 1 and len(calls) > 1


def test_without_tools_an_agent_says_so():
    assert "no tools" in play.say("strong", user(WRITE_NOTE["instruction"]))["content"]
