"""Rule-based judgement: skills, tasks and rubric rules, from simple measurable features of what the request contains.

It is not a language model and does not understand a text; it counts. Its scores exercise the workflow, they are no measure of quality.
"""

import json
import random
import re
from typing import Any

from clawgym.offline.measures import MEASURES, Case

Request = dict[str, Any]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) if value else ""


# --- annotate_skill ---

CATEGORY_WORDS = {
    "dev_tools": r"\b(git|code|test|debug|compil\w*|refactor\w*|lint|ide|repo\w*|deploy\w*|docker|build|typescript|python|react)\b",
    "data_and_apis": r"\b(api|apis|data\w*|sql|csv|json|query|fetch|rest|graphql|price|market|weather|chart|spreadsheet|excel|pptx|pdf)\b",
    "workflows": r"\b(workflow|plan\w*|task|project|meeting|calendar|note|notes|email|organi[sz]e|review|process|checklist|habit)\b",
    "automation": r"\b(automat\w*|schedul\w*|cron|trigger|browser|scrape|crawl|bot|monitor\w*|watch|webhook|sync)\b",
    "security": r"\b(secur\w*|vulnerab\w*|auth\w*|encrypt\w*|secret|password|audit|threat|scan|malware|permission)\b",
    "prompts": r"\b(prompt\w*|persona|style|writing|tone|story|creative|coach|therap\w*|roleplay|content|copy)\b",
    "mcp_tools": r"\b(mcp|model context protocol|tool server|stdio)\b",
}
OPERATION_WORDS = {
    "read_file": r"\bread|\bopen\b|load", "list_files": r"director|folder|list files", "search_text": r"search|find|grep|look ?up",
    "extract_field": r"extract|parse|field", "filter_rows": r"filter|select rows|where", "sort_rows": r"\bsort",
    "convert_format": r"convert|export|transform|render|generate", "normalise_values": r"normali[sz]|clean",
    "rename_or_move": r"rename|\bmove\b", "aggregate": r"aggregat|\bsum\b|total|average|statist", "compare": r"compar|diff",
    "join_tables": r"\bjoin|merge", "rank": r"\brank|top \d|score", "detect_anomalies": r"anomal|outlier|detect|alert",
    "write_note": r"\bnote|\bsave\b|\bwrite\b", "fill_template": r"template|\bform\b", "summarise_text": r"summar|digest|report",
    "draft_message": r"draft|email|message|reply|post\b", "group_items": r"group|categor|organi[sz]", "deduplicate": r"duplicat|dedup",
    "schedule_items": r"schedul|calendar|plan", "validate_schema": r"validat|schema|lint|check", 
    "cross_check": r"cross|verif|audit|reconcil",
    "handle_missing": r"missing|fallback|optional|default", "write_script": r"script|command|\bcli\b|code|bash|python", 
    "update_state": r"\bstate\b|update|track|memory|history",
}  # fmt: skip


def _language(text: str) -> str:
    """Two-letter guess from the script and a few frequent words."""
    for code, pattern in {
        "zh": r"[\u4e00-\u9fff]",
        "ja": r"[\u3040-\u30ff]",
        "ko": r"[\uac00-\ud7af]",
        "ru": r"[\u0400-\u04ff]",
        "ar": r"[\u0600-\u06ff]",
    }.items():
        if len(re.findall(pattern, text)) > 0.05 * max(len(text), 1):
            return "ja" if re.search(r"[\u3040-\u30ff]", text) else code
    words = re.findall(r"[a-zà-ÿ]+", text.lower())
    marks = {
        "en": {"the", "and", "to", "of", "is", "for", "with"},
        "de": {"der", "und", "die", "ist", "nicht", "mit", "für"},
        "es": {"el", "los", "para", "una", "que", "con", "del"},
        "fr": {"les", "des", "une", "est", "pour", "dans", "vous"},
        "pt": {"os", "uma", "não", "para", "você", "com", "são"},
    }
    counts = {code: sum(word in chosen for word in words) for code, chosen in marks.items()}
    return max(counts, key=lambda code: (counts[code], code == "en"))


def annotate_skill(request: Request, rng: random.Random) -> dict[str, Any]:
    """Category, needs, risk and whether tasks without network, keys and screen can be made from the skill."""
    name, description, body = (_text(request.get(key)) for key in ("name", "description", "body"))
    front = _text(request.get("frontmatter"))
    text = f"{name}\n{description}\n{body}\n{front}".lower()
    key_hits = re.findall(
        r"api[ _-]?key|access[ _-]?token|bearer|oauth|[a-z0-9_]+_(?:api_)?(?:key|token|secret)\b|\bcredentials?\b|\bsign up\b", text
    )
    net_hits = re.findall(
        r"\bcurl\b|\bwget\b|https?://[\w.-]*api[\w.-]*|\bfetch(?:es|ing)? (?:from|the (?:page|url))|\brest api\b"
        r"|\bapi (?:call|request|endpoint)|\bendpoints?\b|\bdownload|\bweb search|\bsearch the web\b|\bbrowser\b|\bonline\b",
        text,
    )
    gui_hits = re.findall(
        r"\bscreenshots?\b|\bplaywright\b|\bpuppeteer\b|\bselenium\b|\bapplescript\b"
        r"|\bosascript\b|\bclick (?:on|the)\b|\bgui\b|\bdesktop app\b|\bmouse\b",
        text,
    )
    needs_key, needs_network, needs_gui = bool(key_hits), len(net_hits) >= 2, bool(gui_hits)
    risky = re.findall(
        r"rm -rf|\bsudo\b|private key|\bwallet\b|\btrad(?:e|ing)\b|\bpayment|\bexploit"
        r"|\bmalware|\bsuicid|\bself-harm|\bcurl [^\n|]*\|\s*(?:ba)?sh",
        text,
    )
    risk = "high" if len(risky) >= 3 else "medium" if risky or needs_key else "low"
    found = {
        category: len(re.findall(pattern, f"{name} {name} {description} {description} {text[:2500]}".lower()))
        for category, pattern in CATEGORY_WORDS.items()
    }
    found["mcp_tools"] *= 4
    category = max(found, key=lambda c: found[c]) if any(found.values()) else "workflows"
    rated = {operation: len(re.findall(pattern, text)) for operation, pattern in OPERATION_WORDS.items()}
    operations = [operation for operation in sorted(rated, key=lambda o: (-rated[o], o)) if rated[operation]][:4] or ["write_note"]
    language = _language(f"{description}\n{body}")
    reasons = [
        reason
        for applies, reason in (
            (not body.strip() or len(body.split()) < 25, "no_content"),
            (needs_key, "needs_key"),
            (needs_network, "needs_network"),
            (needs_gui, "needs_gui"),
            (risk == "high", "high_risk"),
            (language != "en", "not_english"),
        )
        if applies
    ]
    return {
        "category": category,
        "synthesizable": not reasons,
        "reasons": reasons,
        "operations": operations,
        "needs_key": needs_key,
        "needs_network": needs_network,
        "needs_gui": needs_gui,
        "risk": risk,
        "language": language,
    }


# --- judge_task ---


def _bounded(value: float) -> int:
    return max(1, min(5, round(value)))


def judge_task(request: Request, rng: random.Random) -> dict[str, Any]:
    """Plausibility, difficulty, coverage, over-strictness and complementarity from counts."""
    instruction = _text(request.get("instruction"))
    files, outputs, checks, rubric = ([x for x in request.get(key) or []] for key in ("files", "expected_outputs", "checks", "rubric"))
    outputs = [_text(path) for path in outputs]
    paths = [_text(file.get("path")) for file in files if isinstance(file, dict)]
    words = len(instruction.split())
    named_inputs = sum(path in instruction or path.split("/")[0] + "/" in instruction for path in paths)
    named_outputs = sum(path in instruction for path in outputs)
    steps = len(re.findall(r"\b(?:then|and|each|every|per|sorted|if|where|whose|at most|at least|only|must|also)\b", instruction.lower()))
    artifacts = {_text(check.get("artifact")) for check in checks if isinstance(check, dict)} | {
        _text(rule.get("artifact")) for rule in rubric if isinstance(rule, dict)
    }
    covered = sum(path in artifacts for path in outputs)
    exact = sum(
        bool(re.search(r"\b(exact|exactly|unchanged|order|byte|nothing else)\b", _text(check.get("description")).lower()))
        for check in checks
        if isinstance(check, dict)
    )
    plausibility = (
        2.0
        + (words >= 6)
        + (not paths or named_inputs >= 0.5 * len(paths))
        + (bool(outputs) and named_outputs == len(outputs))
        - (words > 400)
        - (not outputs)
    )
    lines = sum(len(_text(file.get("content")).splitlines()) for file in files if isinstance(file, dict))
    load = 1.5 * len(paths[:4]) + 1.5 * max(len(outputs) - 1, 0) + 0.5 * steps + words / 40 + (len(rubric) >= 3) + min(lines / 8, 2)
    coverage = 1 + 2 * (covered / len(outputs) if outputs else 0) + min(len(checks) / max(len(outputs), 1), 4) / 2
    announced = bool(re.search(r"\b(sorted|order|same|only|just|unchanged|exactly|alphabetical|columns?)\b", instruction.lower()))
    strict = 1 + (2.5 - 0.5 * announced) * exact / max(len(checks), 1)
    complementarity = None
    if rubric and checks:
        judged = {_text(rule.get("artifact")) for rule in rubric if isinstance(rule, dict)}
        complementarity = _bounded(3 + (len(rubric) >= 2) + bool(judged & set(outputs)))
    return {
        "plausibility": _bounded(plausibility),
        "difficulty": "easy" if load < 3.2 else "medium" if load < 7 else "hard",
        "coverage": _bounded(coverage),
        "overstrictness": _bounded(strict),
        "complementarity": complementarity,
        "comment": f"Inputs: {len(paths)}; outputs named in {words} words: {named_outputs} of {len(outputs)}; "
        f"checks: {len(checks)}, exact ones: {exact}; rubric rules: {len(rubric)}.",
    }


# --- judge_rule ---


def _features(content: str, instruction: str) -> dict[str, float]:
    """What a rule may ask for, each 0..1."""
    words = re.findall(r"[\w'-]+", content)
    lines = [line for line in content.splitlines() if line.strip()]
    lower = content.lower()
    limit = re.search(r"(?:at most|no more than|not exceed|up to|under|below)\s+(\d+)\s+words|(\d+)\s+words at most", instruction.lower())
    most = int(limit[1] or limit[2]) if limit else 300
    bullets = sum(bool(re.match(r"\s*([-*•]|\d+[.)])\s", line)) for line in lines)
    heads = sum(bool(re.match(r"#{1,6} \w", line)) for line in lines)
    asked = {word for word in re.findall(r"[a-z]{5,}", instruction.lower())}
    said = set(re.findall(r"[a-z]{5,}", lower))
    sentences = [s for s in re.split(r"[.!?]\s", content) if s.strip()]
    return {
        "length": 1.0 if 12 <= len(words) <= most else 0.5 if 5 <= len(words) <= 1.3 * most else 0.0,
        "structure": min(1.0, 0.5 * (bullets >= 2) + 0.25 * min(heads, 2) + 0.25 * (len(lines) >= 3)
                         + 0.25 * bool(re.search(r"\n\s*\n", content))),
        "tone": min(1.0, 0.4 * bool(re.search(r"\b(hello|hi|dear|good (morning|day))\b", lower))
                    + 0.3 * bool(re.search(r"\b(thank|please|kindly)", lower))
                    + 0.4 * bool(re.search(r"\b(regards|sincerely|best wishes|cheers|yours|thanks)\b", lower))),
        "specific": min(1.0, 0.12 * len(re.findall(r"\d[\d.,:-]*", content))
                        + 0.08 * len(re.findall(r"\b[A-Z][a-z]+ [A-Z][a-z]+\b", content))
                        + 0.25 * bool(re.search(r"\b(because|since|so|due to|therefore)\b", lower))),
        "relevance": min(1.0, len(asked & said) / max(4, 0.35 * len(asked))),
        "clarity": 1.0 if sentences and sum(len(s.split()) for s in sentences) / len(sentences) <= 24 else 0.5,
        "variety": min(1.0, 1.6 * len({w.lower() for w in words}) / max(len(words), 1)),
    }  # fmt: skip


RULE_WORDS = {
    "length": r"\b(concise|short|brief|length|words|limit)\b",
    "structure": r"\b(structur\w*|heading|bullet\w*|list|sections?|paragraphs?|format\w*|organi[sz]ed)\b",
    "tone": r"\b(tone|polite|friendly|professional|courte\w*|greet\w*|clos\w+|respectful)\b",
    "specific": r"\b(specific|concrete|names?|dates?|numbers?|figures?|evidence|reason|detail\w*|actionable|recommendation)\b",
    "relevance": r"\b(relevan\w*|covers?|complete\w*|mentions?|address\w*|accura\w*|correct\w*|faithful\w*|all)\b",
    "clarity": r"\b(clear\w*|readable|understand\w*|plain|coheren\w*|fluent)\b",
}


def judge_rule(request: Request, rng: random.Random) -> dict[str, Any]:
    """Score of one rubric rule in steps of a quarter, with a line of the artefact as evidence.

    A rule whose id or wording asks for one of `measures` is scored by that; others by the features of prose that they mention.
    """
    rule = request.get("rule") if isinstance(request.get("rule"), dict) else {}
    content = request.get("content")
    if not isinstance(content, str) or not content.strip():
        return {"score": 0, "evidence": "", "comment": "The artefact is missing or empty."}
    instruction, name = _text(request.get("instruction")), _text(rule.get("rule_id")).lower()
    text = f"{name} {_text(rule.get('text'))}".lower()
    measured = [key for key, (pattern, _) in MEASURES.items() if re.search(pattern, text)]
    if measured := [key for key in measured if key == name] or measured:
        case = Case(content, instruction, _text(request.get("artifact")))
        results = {key: MEASURES[key][1](case) for key in measured}
        raw = sum(share for share, _ in results.values()) / len(results)
        # between two anchors the lower one holds
        score = max(0, min(4, int(4 * raw + 0.4))) / 4
        evidence = min(results.values())[1]
        comment = ", ".join(f"{key} {share:.2f}" for key, (share, _) in results.items())
        return {"score": score, "evidence": evidence[:160], "comment": comment}
    answer = _judge_prose(content, instruction, name, text)
    if re.fullmatch(r"no \w+", (rule.get("anchors") or [""])[0]) and answer["score"] == 0:
        answer["score"] = 0.25  # the anchor for 0 describes a text that is not there, and this one is
    return answer


def _judge_prose(content: str, instruction: str, name: str, text: str) -> dict[str, Any]:
    """Score by the features of prose that the rule mentions; repetition costs up to two fifths."""
    features = _features(content, instruction)
    asked = [key for key, pattern in RULE_WORDS.items() if re.search(pattern, text)] or ["relevance", "clarity"]
    leading = [key for key in asked if key == name] or asked
    raw = sum(features[key] for key in leading) / len(leading) * (0.6 + 0.4 * features["variety"])
    score = max(0, min(4, round(4 * raw + 0.15))) / 4
    lines = [line.strip() for line in content.splitlines() if line.strip()]
    evidence = max(
        lines,
        key=lambda line: (
            len(set(re.findall(r"[a-z]{4,}", text)) & set(re.findall(r"[a-z]{4,}", line.lower()))),
            len(re.findall(r"\d", line)),
        ),
    )
    return {
        "score": score,
        "evidence": evidence[:160],
        "comment": ", ".join(f"{key} {features[key]:.2f}" for key in leading) + f", variety {features['variety']:.2f}",
    }
