"""The sanity gate over imported tasks: what stays can be rolled out, what leaves is listed with its reason.

They are held to the untouched and the empty workspace only: they are what others publish and compare with. What their graders
give for outputs without work is in the table.
"""

from clawgym.config import Gates
from clawgym.quality import gates


def decide(tasks: list[dict], verifiers: list[dict], rejects: list[dict], cards: list[dict], settings: Gates) -> list[dict]:
    """Rows of imports/decisions.parquet: every imported task, then every record that could not be imported."""
    has_code = {row["task_id"]: bool(row["code"]) for row in verifiers}
    summary = gates.summarise_cards(cards)
    rows = []
    for task in tasks:
        card = summary.get(task["task_id"], gates.Card())
        drop = gates.sanity(card.only(*gates.EFFORTLESS), has_code[task["task_id"]], settings)
        rows.append(
            {
                "record_id": task["task_id"],
                "source": task["source"],
                "kept": drop is None,
                "stage": drop.stage if drop else None,
                "reason": drop.reason if drop else None,
                "detail": drop.detail if drop else None,
                "s_initial": card.scores.get("initial"),
                "s_empty": card.scores.get("empty"),
                "s_touch": card.scores.get("touch"),
                "s_echo": card.scores.get("echo"),
                "s_copy": card.scores.get("copy"),
                "failed_states": [f"{state}: {failure}" for state, failure in card.failures.items()],
            }
        )
    for row in rejects:
        why = {name: row[name] for name in ("stage", "reason", "detail")}
        rows.append({"record_id": row["record_id"], "source": row["record_id"], "kept": False, "failed_states": []} | why)
    return rows


def describe(rows: list[dict]) -> str:
    """What left and why, as lines for a terminal."""
    lines = [f"{row['record_id']}: {row['stage']}: {row['reason']}: {row['detail']}" for row in rows if not row["kept"]]
    return "\n".join([*lines, f"{sum(row['kept'] for row in rows)} of {len(rows)} imported records can be rolled out"])
