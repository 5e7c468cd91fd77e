"""Tables of the seeds stage."""

import pyarrow as pa

from clawgym.tables import column

ORIGIN = [
    column("source", pa.string(), "where the record came from: `pool`, a file, a dataset or a skill folder"),
    column("licence", pa.string(), "licence of what it was made from"),
    column("redistributable", pa.bool_(), "may exports contain text made from it"),
]

PERSONA = pa.schema(
    [
        column("persona_id", pa.string(), "`pool-<index>`, or `import-<hash of the text>`"),
        column("index", pa.int64(), "position in the built-in pool; null for an imported persona", nullable=True),
        column("persona", pa.string(), "the persona in one or two sentences"),
        column("attributes", pa.string(), "JSON object: the attributes the text was made from, `{}` for an imported persona"),
        *ORIGIN,
    ]
)

SKILL = pa.schema(
    [
        column("skill_id", pa.string(), "name as a slug and the first 8 digits of sha256"),
        column("name", pa.string(), "from the front matter, else the first heading, else the folder's name"),
        column("description", pa.string(), "from the front matter, else the first paragraph"),
        column("category", pa.string(), "one of the skill categories; null if it could not be annotated", nullable=True),
        column("synthesizable", pa.bool_(), "can tasks be made from it that need nothing but files, no key, network, screen or harm"),
        column(
            "reasons",
            pa.list_(pa.string()),
            "typed reasons why not; empty if synthesizable: `needs_key`, `needs_network`, `needs_program`, `needs_other_system` (so its "
            "metadata), `needs_gui`, `unsafe`, `empty`, `annotator_…` (no usable answer), or the annotator's own, as the stand-in's "
            "`not_english` and `no_content` (fewer than 25 words)",
        ),
        column("operations", pa.list_(pa.string()), "atomic operations the skill is used for, main first"),
        column("needs_key", pa.bool_(), "needs a key, token or account"),
        column("needs_network", pa.bool_(), "needs a service outside the workspace"),
        column("needs_gui", pa.bool_(), "needs a screen, a browser window or a desktop application"),
        column("risk", pa.string(), "low, medium or high: what harm following it could do"),
        column("language", pa.string(), "ISO 639-1 code of the language it is written in, `und` if unclear"),
        column("body", pa.string(), "the text after the front matter, first 4000 characters"),
        column("frontmatter", pa.string(), "JSON object: the front matter as far as it could be read"),
        column("notes", pa.list_(pa.string()), "what was wrong with the file: `no_front_matter`, `broken_yaml`, `not_utf8`, `truncated` …"),
        column("copies", pa.list_(pa.string()), "other files with the same words, merged into this row"),
        column("sha256", pa.string(), "of the words of description and text, without case, layout and punctuation"),
        *ORIGIN,
    ]
)

SEED = pa.schema(
    [
        column("seed_id", pa.string(), "`p-` or `s-` and a hash of what the seed is made of"),
        column("route", pa.string(), "persona or skill"),
        column("persona", pa.string(), "text of the persona; null on the skill route", nullable=True),
        column("persona_id", pa.string(), "row of personas.parquet; null on the skill route", nullable=True),
        column("category", pa.string(), "scenario category; on the skill route the category of the main skill"),
        column("subcategory", pa.string(), "scenario subcategory; null on the skill route", nullable=True),
        column("operations", pa.list_(pa.string()), "atomic operations to combine, the main one first"),
        column("main_skill", pa.string(), "skill_id; null on the persona route", nullable=True),
        column("support_skills", pa.list_(pa.string()), "skill_ids of at most three supporting skills"),
        *ORIGIN,
    ]
)

DIVERSITY = pa.schema(
    [
        column("source", pa.string(), "the set that was measured: `pool` or the imported file"),
        column("n", pa.int64(), "how many personas were compared"),
        column("mean_nearest_cosine", pa.float64(), "mean cosine of a persona to its nearest other; null if not measured", nullable=True),
        column("p95_nearest_cosine", pa.float64(), "95th percentile of that cosine; null if not measured", nullable=True),
    ]
)
