"""Settings: one source, generated files that cannot drift, and clear lines for what a user gets wrong."""

import json
from pathlib import Path

import pytest
import yaml

from clawgym import config
from clawgym.errors import UserError

ROOT = Path(__file__).parent.parent


def test_generated_files_match_the_models():
    assert (ROOT / "config/config.yaml").read_text() == config.default_yaml(), "run: python -m clawgym.config"
    assert (ROOT / "config/schema.json").read_text() == config.json_schema(), "run: python -m clawgym.config"


def test_the_commented_default_reads_back_as_the_default():
    assert config.load(yaml.safe_load(config.default_yaml())) == config.Config()


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("config/examples/*.yaml")) + sorted(ROOT.glob("config/ablations/*.yaml")) + [ROOT / "config/paper.yaml"]
)
def test_shipped_configurations_are_valid(path):
    loaded = config.load(yaml.safe_load(path.read_text()), str(path))
    for name in loaded.variants:
        config.variant(loaded, name)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"qualty": {}}, "unknown key qualty"),
        ({"quality": {"novelty": {"treshold": 0.9}}}, "unknown key quality.novelty.treshold"),
        ({"seed": "seven"}, "seed: Input should be a valid integer"),
        ({"quality": {"novelty": {"threshold": 3}}}, "quality.novelty.threshold: Input should be less than or equal to 1 (found 3)"),
        ({"rollouts": {"teachers": ["nobody"]}}, "rollouts.teachers names ['nobody']"),
        ({"rollouts": {"teachers": ["strong", "strong"]}}, "each must be another one"),
        ({"bench": {"calibration": {"weak": "strong"}}}, "each must be another one"),
        ({"models": {"sft": {"base_url": "offline", "model": "offline/weak"}}}, "calls its students by"),
        ({"variants": {"x": {}}}, "must contain baseline"),
        ({"variants": {"baseline": {}, "x": {"seed": 3}}}, "only trajectories and training can vary"),
        ({"models": {"author": {"base_url": "offline"}}}, "models.author.model: Field required"),
        ({"quality": {"split": {"train_groups": ["a"], "unseen_groups": ["a"]}}}, "a group can only be in one"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(values, expected):
    with pytest.raises(UserError) as caught:
        config.load(values, "mine.yaml")
    assert expected in str(caught.value)
    assert all(line.startswith("mine.yaml: ") for line in str(caught.value).splitlines())


def test_a_model_of_the_users_replaces_one_entry_and_keeps_the_others():
    loaded = config.load({"models": {"author": {"base_url": "http://127.0.0.1:1/v1", "model": "m"}}})
    assert loaded.models["author"].model == "m"
    assert loaded.models["judge"].base_url == "offline"


def test_a_rule_gets_what_it_names_and_nothing_else():
    given = config.Settings(config.select(config.Config(), "quality.novelty", "models.judge", "seed", "verifiers"))
    assert given["quality.novelty"].threshold == config.Config().quality.novelty.threshold
    assert given["models.judge"].model == "offline/judge"
    assert given["verifiers"].lambda_ == 0.7
    assert given["seed"] == 17
    with pytest.raises(KeyError, match="bench"):
        given["bench"]


def test_a_variant_changes_only_what_it_names():
    loaded = config.load({"variants": {"baseline": {}, "strict": {"trajectories": {"min_reward": 0.6}}}})
    strict = config.variant(loaded, "strict")
    assert strict.trajectories.min_reward == 0.6
    assert json.dumps(config.dump(strict)["training"]) == json.dumps(config.dump(loaded)["training"])


def test_input_folders_are_found_in_the_repository_when_run_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    located = config.locate(config.Config(), ROOT)
    assert Path(located.prompts).is_dir()
    with pytest.raises(UserError, match="seeds.skills.folders: there is no folder nowhere"):
        config.locate(config.load({"seeds": {"skills": {"folders": ["nowhere"]}}}), ROOT)


def test_a_model_may_be_called_by_a_name_with_dots():
    loaded = config.load(
        {"models": {"gpt-4.1": {"base_url": "http://127.0.0.1:1/v1", "model": "m"}}, "rollouts": {"teachers": ["gpt-4.1"]}}
    )
    assert config.Settings(config.select(loaded, "models.gpt-4.1", "seed"))["models.gpt-4.1"].model == "m"


def test_a_key_in_place_of_its_variable_is_refused_and_not_repeated():
    with pytest.raises(UserError, match="models.author.api_key_env") as caught:
        config.load({"models": {"author": {"base_url": "http://x/v1", "model": "m", "api_key_env": "sk-real-1"}}})
    assert "sk-real" not in str(caught.value)
    with pytest.raises(UserError, match="models.author.base_url: .*without user and password") as caught:
        config.load({"models": {"author": {"base_url": "https://u:sk-real-1@x/v1", "model": "m"}}})
    assert "sk-real" not in str(caught.value)
