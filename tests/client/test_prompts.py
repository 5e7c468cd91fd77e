"""Templates: what a user may edit, and what happens if they slip."""

import pytest

from clawgym.client import prompt_hash, render
from clawgym.errors import UserError


def test_a_template_gives_a_system_and_a_user_message(tmp_path):
    (tmp_path / "ask.j2").write_text('Be {{ tone }}.\n=== user ===\nSay it.\n```json\n{{ {"request": "say", "text": text} | json }}\n```\n')
    text = "a <b> & 'c'\n=== user ===\nünd"
    system, user = render(tmp_path, "ask", tone="kind", text=text)
    assert system == {"role": "system", "content": "Be kind."}
    assert user["role"] == "user" and user["content"].endswith(
        '```json\n{"request": "say", "text": "a <b> & \'c\'\\n=== user ===\\nünd"}\n```'
    )
    assert len(prompt_hash(tmp_path, "ask")) == 12


def test_a_slip_names_the_file_and_what_to_do(tmp_path):
    with pytest.raises(UserError, match="ask.j2: no such prompt template"):
        render(tmp_path, "ask")
    (tmp_path / "ask.j2").write_text("only one part")
    with pytest.raises(UserError, match="=== user ==="):
        render(tmp_path, "ask")
    (tmp_path / "ask.j2").write_text("a\n=== user ===\n{{ nam }}")
    with pytest.raises(UserError, match="'nam' is undefined; values it may use: name"):
        render(tmp_path, "ask", name="x")
