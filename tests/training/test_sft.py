"""A run that was killed ends as if it had not been; adapters are merged; sharded processes train the same model."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from clawgym.config import Sft
from clawgym.errors import UserError
from clawgym.tables import read_rows, write_table
from clawgym.training.checkpoints import open_work
from clawgym.training.schema import ROW, SFT_METRICS
from clawgym.trajectories.schema import TRAJECTORY
from scripts.train_sft import main
from tests.training.tiny import trajectory

ROOT = Path(__file__).parents[2]
SHORT = {
    "steps": 6,
    "batch_size": 2,
    "learning_rate": 1e-2,
    "save_steps": 2,
    "evaluations": 1,
    "eval_fraction": 0.2,
    "precision": "float32",
}


class Run:
    """One training run of the script in a folder of its own."""

    def __init__(self, folder: Path, base: Path, **sft):
        self.folder = folder
        write_table([trajectory(number) for number in range(16)], TRAJECTORY, folder / "trajectories.parquet", {})
        settings = {"training.sft": Sft(**(SHORT | sft)).model_dump(), "seed": 17}
        self.command = [
            sys.executable, "scripts/train_sft.py", "--trajectories", folder / "trajectories.parquet", "--base", base,
            "--settings", json.dumps(settings), "--work", folder / "work", "--checkpoint", folder / "checkpoint",
            "--rows", folder / "rows.parquet", "--metrics", folder / "metrics.parquet",
        ]  # fmt: skip

    def start(self):
        env = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
        return subprocess.Popen(
            list(map(str, self.command)),
            cwd=ROOT,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def here(self):
        """The same command in this process: spares the imports of a new one."""
        main(list(map(str, self.command[2:])))

    def finish(self):
        process = self.start()
        output, _ = process.communicate(timeout=240)
        assert process.returncode == 0, output[-3000:]
        return output

    @property
    def curve(self):
        return read_rows(self.folder / "metrics.parquet", SFT_METRICS)

    @property
    def weights(self):
        return load_file(self.folder / "checkpoint/model.safetensors")


@pytest.fixture(scope="module")
def whole(tiny, tmp_path_factory):
    run = Run(tmp_path_factory.mktemp("whole"), tiny)
    run.here()
    return run


def test_a_run_leaves_a_model_its_rows_and_a_falling_curve(whole):
    losses = [row["loss"] for row in whole.curve]
    assert [row["step"] for row in whole.curve] == [1, 2, 3, 4, 5, 6] and losses[-1] < losses[0] - 0.5
    assert whole.curve[-1]["eval_loss"] is not None and all(row["tokens"] > 0 and row["seconds"] > 0 for row in whole.curve)
    rows = read_rows(whole.folder / "rows.parquet", ROW)
    assert len(rows) == 16 and {row["split"] for row in rows} == {"train", "eval"}
    assert AutoTokenizer.from_pretrained(whole.folder / "checkpoint").response_template
    AutoModelForCausalLM.from_pretrained(whole.folder / "checkpoint")


def test_a_killed_run_goes_on_and_ends_the_same(whole, tiny, tmp_path, capsys):
    run = Run(tmp_path, tiny)
    process = run.start()
    while not list(tmp_path.glob("work/checkpoint-2/trainer_state.json")):
        assert process.poll() is None, process.communicate()[0][-3000:]
        time.sleep(0.02)
    process.kill()
    process.wait()
    assert not (tmp_path / "checkpoint").exists() and not (tmp_path / "metrics.parquet").exists()
    run.here()
    assert "going on from step" in capsys.readouterr().out
    for name in ("step", "loss", "lr", "eval_loss"):
        ours, theirs = ([row[name] for row in each.curve if row[name] is not None] for each in (run, whole))
        assert ours == pytest.approx(theirs, rel=1e-4)
    for name, tensor in whole.weights.items():
        torch.testing.assert_close(run.weights[name], tensor, rtol=1e-3, atol=1e-5)


def test_work_of_other_settings_or_cut_off_is_not_taken_up(tmp_path):
    assert open_work(tmp_path / "w", "a") is None
    for step, state in ((2, "{}"), (10, "{}"), (12, None), (14, '{"best_'), (16, "")):
        (tmp_path / f"w/checkpoint-{step}").mkdir()
        if state is not None:
            (tmp_path / f"w/checkpoint-{step}/trainer_state.json").write_text(state)
    assert open_work(tmp_path / "w", "a").name == "checkpoint-10"
    assert open_work(tmp_path / "w", "b") is None and not list(tmp_path.glob("w/checkpoint-*"))


def test_adapters_are_merged_into_a_plain_model(tiny, tmp_path):
    run = Run(tmp_path, tiny, lora_rank=4, steps=2)
    run.here()
    base = load_file(tiny / "model.safetensors")
    assert run.weights.keys() == base.keys()
    assert any(not torch.equal(run.weights[name], base[name]) for name in base)


def test_two_processes_under_deepspeed_zero2(tiny, tmp_path):
    run = Run(tmp_path, tiny, deepspeed="config/deepspeed/zero2.json", processes=2, steps=2, batch_size=1, evaluations=0, save_steps=100)
    output = run.finish()
    assert "trained by 2 process(es), DeepSpeedEngine" in output
    assert len(run.curve) == 2 and run.weights.keys() == load_file(tiny / "model.safetensors").keys()


def test_a_missing_base_is_one_line(tmp_path):
    run = Run(tmp_path, tmp_path / "nothing")
    with pytest.raises(UserError, match="run the training rule"):
        run.here()
