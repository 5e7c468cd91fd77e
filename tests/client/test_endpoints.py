"""Endpoints that a job opens itself: they answer while it works and are gone afterwards."""

import asyncio

import pytest

from clawgym.client import Client
from clawgym.client.endpoints import _free_port, _healthy, serve
from clawgym.config import Model, Spend
from clawgym.errors import UserError


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A random model of a few thousand parameters with a word tokenizer, which never ends by itself."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("checkpoint")
    words = {word: i for i, word in enumerate(["<eos>", "<unk>", "hello", "world", *"abcdefgh"])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<eos>", unk_token="<unk>", pad_token="<eos>")
    fast.chat_template = "{% for m in messages %}{{ m.content }} {% endfor %}"
    fast.save_pretrained(folder)
    size = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    LlamaForCausalLM(LlamaConfig(vocab_size=len(words), eos_token_id=None, **size)).save_pretrained(folder)
    return folder


def test_a_checkpoint_folder_is_served_while_the_client_is_open(checkpoint, tmp_path):
    model = Model(base_url="checkpoint", model=str(checkpoint), max_tokens=4, timeout_s=60)

    async def main():
        async with Client({"student": model}, Spend(cache=str(tmp_path / "c.sqlite")), "bench") as client:
            completion = await client.chat("student", [{"role": "user", "content": "hello world"}])
            return completion, next(iter(client._urls.values()))

    completion, url = asyncio.run(main())
    assert completion.tokens_out <= 4 and completion.text
    port = int(url.split(":")[2].split("/")[0])

    async def connect():
        await asyncio.open_connection("127.0.0.1", port)

    with pytest.raises(ConnectionRefusedError):
        asyncio.run(connect())


def test_a_server_that_does_not_come_up_says_why(tmp_path):
    log = tmp_path / "serve.log"
    log.write_text("loading\nValueError: no such architecture\n\n")

    async def main():
        process = await asyncio.create_subprocess_exec("false")
        await process.wait()
        await _healthy(process, _free_port(), log, 5)

    with pytest.raises(UserError, match=r"ended with code 1 \(ValueError: no such architecture\); its output is in .*serve.log"):
        asyncio.run(main())


def test_an_endpoint_that_is_served_already_is_left_alone():
    async def main():
        async with serve(Model(base_url="http://somewhere/v1", model="m")) as url:
            return url

    assert asyncio.run(main()) == "http://somewhere/v1"
    assert 1024 < _free_port() < 65536
