"""Words of the stand-in's tasks: per subcategory of the taxonomy what the work is about, what is listed and which fields it has.

Everything is drawn from a `random.Random` that the caller seeds from the request, so the same request gets the same words.
"""

import random
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Scene:
    """Setting of one task."""

    topic: str
    """What the work is about, plural: `supplier invoices`."""
    key: str
    """Column that names an entry, snake_case: `invoice`."""
    things: tuple[str, ...]
    """Entries, lower-case phrases without commas or quotes."""
    fields: dict[str, str]
    """Further columns: name to value type (a key of `VALUES`)."""

    def numeric(self) -> list[str]:
        """Names of the columns that hold numbers."""
        return [name for name, type_ in self.fields.items() if type_ in ("int", "money")]


PEOPLE = (
    "Ada Finch|Bruno Keller|Chidi Okafor|Dalia Haddad|Elif Yilmaz|Farid Noor|Greta Lindqvist|Hiro Tanaka|Ines Moreau|Jonas Weber|"
    "Kavya Iyer|Lena Sorokin|Mateo Rojas|Nadia Petrova|Oskar Nowak|Priya Raman|Quentin Blais|Rosa Alvarez|Samir Khan|Tessa Byrne|"
    "Uma Desai|Viktor Horvat|Wanda Mills|Ximena Soto|Yusuf Aydin|Zoe Marsh|Amara Diallo|Bence Toth|Clara Boone|Duc Pham|Edith Crane|"
    "Fumiko Abe|Gareth Pugh|Hana Novak"
).split("|")
PLACES = (
    "Leeds|Porto|Graz|Tampere|Lyon|Gdansk|Bergen|Utrecht|Valencia|Tartu|Galway|Basel|Ghent|Aarhus|Trieste|Dresden|Malmo|Brno|Cork|"
    "Split|Izmir|Kochi|Osaka|Quito|Tunis|Accra|Perth|Halifax|Denver|Austin"
).split("|")
STATUSES = "open|closed|pending|approved|rejected|overdue|draft|paused|confirmed|archived".split("|")
WEEKDAYS = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday".split("|")
GROUPS = {
    "region": "north south east west central".split(),
    "team": "amber birch cobalt delta ember".split(),
    "site": "harbour hilltop mill station annex".split(),
    "channel": "mail phone web counter partner".split(),
    "priority": "low normal high urgent".split(),
    "shift": "early late night weekend".split(),
    "season": "spring summer autumn winter".split(),
    "tier": "basic plus premium trial".split(),
}


def _date(rng: random.Random) -> str:
    return f"{rng.randint(2023, 2026)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"


VALUES = {
    "person": lambda rng: rng.choice(PEOPLE),
    "place": lambda rng: rng.choice(PLACES),
    "status": lambda rng: rng.choice(STATUSES),
    "weekday": lambda rng: rng.choice(WEEKDAYS),
    "date": _date,
    "time": lambda rng: f"{rng.randint(7, 19):02d}:{rng.choice((0, 10, 15, 20, 30, 45)):02d}",
    "code": lambda rng: f"{rng.choice('ABCDEFGHKLMNPRSTVWXZ')}{rng.choice('ABCDEFGHKLMNPRSTVWXZ')}-{rng.randint(100, 999)}",
    "room": lambda rng: f"room {rng.randint(1, 9)}{rng.choice('ABCDEF')}",
    "version": lambda rng: f"{rng.randint(0, 9)}.{rng.randint(0, 20)}.{rng.randint(0, 9)}",
    "int": lambda rng: str(rng.randint(2, 480)),
    "money": lambda rng: f"{rng.randint(11, 980)}.{rng.randint(0, 99):02d}",
}


def _scene(topic: str, key: str, things: str, fields: str) -> Scene:
    return Scene(topic, key, tuple(things.split("|")), dict(pair.split(":") for pair in fields.split()))


SCENES = {
    # office operations
    "meeting_records": _scene(
        "meeting records",
        "meeting",
        "budget review|hiring panel|safety briefing|design critique|board call|union talks|retrospective|vendor pitch",
        "chair:person date:date room:room minutes:int outcome:status",
    ),
    "mail_triage": _scene(
        "inbox threads",
        "thread",
        "parking complaint|lease renewal|press inquiry|refund plea|site visit|printer contract|speaker invitation|lost badge",
        "sender:person received:date queue:place replies:int state:status",
    ),
    "document_filing": _scene(
        "filed documents",
        "document",
        "deed of sale|site plan|warranty card|board resolution|tenancy agreement|patent letter|licence renewal|survey map",
        "shelf:code filed:date clerk:person pages:int state:status",
    ),
    "form_processing": _scene(
        "paper forms",
        "form",
        "address change|leave request|key handover|visitor pass|travel waiver|equipment loan|consent sheet|grant claim",
        "applicant:person submitted:date desk:room attachments:int state:status",
    ),
    "calendar_planning": _scene(
        "calendar entries",
        "event",
        "dentist slot|fire drill|quarterly offsite|piano recital|training morning|contract signing|open house|choir practice",
        "host:person day:weekday start:time guests:int venue:place",
    ),
    # data analysis
    "sales_reporting": _scene(
        "sales figures",
        "product",
        "oak desk|linen shirt|trail bike|copper kettle|desk lamp|wool rug|camping stove|ceramic mug",
        "rep:person store:place units:int revenue:money closed:date",
    ),
    "survey_analysis": _scene(
        "survey answers",
        "question",
        "commute time|canteen quality|pay fairness|lighting comfort|noise level|mentor support|holiday policy|bike parking",
        "analyst:person wave:code answers:int asked:date region:place",
    ),
    "log_statistics": _scene(
        "service logs",
        "service",
        "login gateway|image resizer|billing worker|search indexer|mail relay|cache node|queue broker|export job",
        "owner:person host:code requests:int errors:int rotated:date",
    ),
    "quality_metrics": _scene(
        "quality metrics",
        "station",
        "paint booth|weld cell|bottling line|press brake|laser cutter|label printer|packing table|torque bench",
        "inspector:person lot:code defects:int checked:date plant:place",
    ),
    "forecast_inputs": _scene(
        "forecast inputs",
        "series",
        "ice cream demand|ferry bookings|heating load|blood donations|tulip orders|cinema visits|night calls|solar output",
        "planner:person horizon:int baseline:money updated:date area:place",
    ),
    # software engineering
    "configuration": _scene(
        "service settings",
        "setting",
        "retry budget|session timeout|upload ceiling|cache window|worker pool|log retention|token lifetime|batch size",
        "owner:person cluster:place limit:int ticket:code changed:date",
    ),
    "release_notes": _scene(
        "release notes",
        "release",
        "offline maps|dark theme|faster import|voice search|shared albums|bulk rename|two-step login|calendar sync",
        "manager:person version:version fixes:int shipped:date stage:status",
    ),
    "test_reports": _scene(
        "test reports",
        "suite",
        "checkout flow|date parser|upload retries|role matrix|currency rounding|offline queue|push tokens|search ranking",
        "maintainer:person build:code failures:int seconds:int run:date",
    ),
    "code_inventory": _scene(
        "code modules",
        "module",
        "pdf renderer|rate limiter|geo lookup|mail parser|audit writer|price engine|thumbnail cache|feature flags",
        "author:person repo:code lines:int touched:date licence:status",
    ),
    "dependency_review": _scene(
        "library upgrades",
        "package",
        "yaml reader|http stack|image codec|time zones|crypto box|markdown engine|queue driver|font shaper",
        "reviewer:person pinned:version advisories:int reviewed:date verdict:status",
    ),
    # finance
    "expense_claims": _scene(
        "expense claims",
        "claim",
        "taxi to fair|client dinner|train ticket|hotel night|conference badge|phone repair|parking fee|team lunch",
        "employee:person receipt:code amount:money spent:date state:status",
    ),
    "invoice_matching": _scene(
        "supplier invoices",
        "supplier",
        "Borealis Paper|Quarry Foods|Nimbus Hosting|Falcon Courier|Meadow Dairy|Atlas Lifts|Cobalt Print|Harbour Tools",
        "invoice:code order:code amount:money due:date buyer:person",
    ),
    "budget_tracking": _scene(
        "budget lines",
        "line",
        "roof repair|staff training|print ads|lab reagents|summer camp|server rent|library books|snow removal",
        "holder:person planned:money spent:money quarter:code state:status",
    ),
    "payroll_checks": _scene(
        "payroll entries",
        "employee",
        "night porter|head baker|crane operator|lab assistant|bus driver|pastry cook|ward nurse|grounds keeper",
        "badge:code hours:int gross:money paid:date branch:place",
    ),
    "tax_records": _scene(
        "tax records",
        "filing",
        "vat return|payroll levy|property tax|import duty|fuel rebate|donation receipt|capital gains|dog licence",
        "preparer:person reference:code owed:money deadline:date office:place",
    ),
    # research and education
    "literature_notes": _scene(
        "reading notes",
        "paper",
        "moss ecology|urban foxes|tidal energy|sleep debt|bridge fatigue|honey fraud|river plastics|child bilingualism",
        "reader:person citation:code pages:int read:date verdict:status",
    ),
    "experiment_records": _scene(
        "lab runs",
        "sample",
        "yeast strain|copper alloy|algae film|clay tile|salt brine|pollen trap|resin batch|worm colony",
        "operator:person vial:code reading:money measured:date bench:room",
    ),
    "course_material": _scene(
        "course units",
        "unit",
        "map reading|basic welding|sonnet forms|cell division|proof by cases|jazz chords|first aid|wood joints",
        "teacher:person hall:room pages:int starts:date level:status",
    ),
    "grading_sheets": _scene(
        "grading sheets",
        "student",
        "Milo Grant|Asha Verma|Theo Lund|Sara Bakker|Noor Aziz|Ivo Marek|Lucia Prado|Finn Walsh",
        "tutor:person sheet:code points:int graded:date seat:room",
    ),
    "reference_lists": _scene(
        "reference entries",
        "title",
        "Salt Roads|The Quiet Loom|Winter Botany|Glass Rivers|Paper Engines|Stone Soup|Old Harbours|Night Trains",
        "editor:person callmark:code pages:int printed:date city:place",
    ),
    # logistics
    "inventory": _scene(
        "stock items",
        "item",
        "steel bolts|wood glue|safety gloves|pallet wrap|hinge sets|floor wax|cable ties|paint rollers",
        "keeper:person bin:code stock:int counted:date depot:place",
    ),
    "shipping": _scene(
        "outgoing parcels",
        "parcel",
        "violin case|wine crate|spare rotor|seed packets|poster tubes|mirror frame|vaccine box|bicycle wheel",
        "courier:person tracking:code weight:int sent:date destination:place",
    ),
    "procurement": _scene(
        "purchase orders",
        "order",
        "forklift tyres|office chairs|lab freezer|exit signs|scaffold clamps|ink drums|water filters|canvas tents",
        "buyer:person number:code price:money needed:date vendor:place",
    ),
    "maintenance": _scene(
        "repair jobs",
        "machine",
        "cooling tower|goods lift|bread oven|belt sander|roof fan|ice plant|dock crane|boiler two",
        "fitter:person job:code downtime:int serviced:date hall:room",
    ),
    "fleet": _scene(
        "fleet vehicles",
        "vehicle",
        "blue tipper|school minibus|mail van|tower truck|street sweeper|milk tanker|snow plough|field jeep",
        "driver:person plate:code mileage:int inspected:date garage:place",
    ),
    # customer and community
    "support_tickets": _scene(
        "support tickets",
        "ticket",
        "frozen screen|double charge|late parcel|broken zip|wrong size|missing manual|locked account|faint print",
        "agent:person number:code hours:int opened:date state:status",
    ),
    "feedback": _scene(
        "visitor feedback",
        "exhibit",
        "whale hall|coin room|steam shed|rose garden|moon globe|fossil wall|tea pavilion|toy attic",
        "visitor:person card:code stars:int left:date mood:status",
    ),
    "newsletters": _scene(
        "newsletter items",
        "story",
        "bridge opening|swim gala|bee keeping|choir tour|market day|tree planting|repair cafe|lantern walk",
        "writer:person slot:code words:int runs:date state:status",
    ),
    "event_registration": _scene(
        "event sign-ups",
        "workshop",
        "sourdough basics|kite making|chess night|pottery wheel|salsa class|bike repair|bird walk|ink drawing",
        "trainer:person hall:room seats:int held:date fee:money",
    ),
    "membership": _scene(
        "club members",
        "member",
        "rowing cadet|senior archer|junior climber|guest fencer|life sailor|trial skater|veteran runner|family swimmer",
        "sponsor:person card:code visits:int joined:date club:place",
    ),
    # security and compliance
    "access_review": _scene(
        "access grants",
        "account",
        "payroll reader|door admin|backup operator|lab guest|vault keeper|camera viewer|build robot|records clerk",
        "approver:person grant:code logins:int expires:date state:status",
    ),
    "incident_records": _scene(
        "incident records",
        "incident",
        "tailgating at gate|lost laptop|phishing call|smoke alarm|server theft|badge cloning|spill in lab|power cut",
        "handler:person case:code duration:int reported:date site:place",
    ),
    "policy_checks": _scene(
        "policy checks",
        "rule",
        "password length|clean desk|visitor escort|backup test|usb ban|shredding|night lock-up|vendor vetting",
        "auditor:person clause:code breaches:int checked:date verdict:status",
    ),
    "audit_trails": _scene(
        "audit entries",
        "action",
        "role change|record export|key rotation|invoice edit|user removal|price override|policy waiver|data purge",
        "actor:person trace:code records:int logged:date office:place",
    ),
    # personal and home
    "meal_planning": _scene(
        "meal plans",
        "dish",
        "lentil soup|fish tacos|mushroom risotto|beet salad|lamb stew|veggie curry|plum dumplings|corn chowder",
        "cook:person day:weekday portions:int cost:money eaten:date",
    ),
    "travel": _scene(
        "travel plans",
        "trip",
        "fjord ferry|desert drive|canal cruise|alpine hike|island hop|vineyard ride|museum weekend|sauna retreat",
        "guide:person booking:code nights:int departs:date city:place",
    ),
    "health_log": _scene(
        "health notes",
        "entry",
        "morning run|blood pressure|allergy tablet|knee stretch|eye test|swim session|sleep diary|flu shot",
        "doctor:person visit:code reading:int noted:date clinic:place",
    ),
    "household": _scene(
        "household chores",
        "chore",
        "gutter cleaning|boiler check|hedge trim|attic sorting|window paint|drain flush|carpet wash|smoke alarm test",
        "helper:person slot:weekday minutes:int due:date cost:money",
    ),
}


def scene_of(subcategory: str, rng: random.Random) -> Scene:
    """The scene of a subcategory; for one that a user added, any scene."""
    return SCENES.get(subcategory) or SCENES[rng.choice(sorted(SCENES))]


_STOP = set("who whose with in at for from of on and to into under by near found close".split())


def occupation_of(persona: str) -> str:
    """What the persona does, as far as a simple reading of the text tells: at most four words, or `colleague`."""
    verb_follows = (persona or "").startswith("At ")  # At a depot, a senior clerk counts …
    text = re.sub(r"^At [^,]+, ", "", persona or "")
    match = re.search(r"\bas an? (.+)", text) if re.match(r"\w+ing\b|[A-Z]\w+s\b", text) else None
    match = match or re.search(r"\b(?:an?|the) (.+)", text, re.I)
    words: list[str] = []
    for word in (match[1] if match else "").split():
        plain = re.sub(r"[^\w'/&-]+$", "", word)
        if plain.lower() in _STOP or (words and plain.endswith("ing")) or len(words) == 4:
            break
        if verb_follows and len(words) >= 2 and re.search(r"[^s']s$", plain):
            break
        words.append(plain)
        if plain != word:
            break
    return " ".join(words) or "colleague"


def slug(text: str, joint: str = "-") -> str:
    """File-name form of a phrase."""
    return re.sub(r"[^a-z0-9]+", joint, text.lower()).strip(joint) or "item"


FOLDERS = "notes out desk records inbox daily shared team log done office work files drafts review".split()


def some_path(rng: random.Random, words: str, extension: str, *, folder: bool | None = None) -> str:
    """A relative path whose name comes from `words`; about half of them in a folder."""
    name = f"{slug(words)}.{extension}"
    return f"{rng.choice(FOLDERS)}/{name}" if (rng.random() < 0.5 if folder is None else folder) else name


def short_note(rng: random.Random, scene: Scene) -> str:
    """One short line somebody might jot down about the scene, 3 to 8 words."""
    thing, person, day = rng.choice(scene.things), rng.choice(PEOPLE), rng.choice(WEEKDAYS)
    field = rng.choice(sorted(scene.fields))
    return rng.choice(
        [
            f"{thing} moved to {day}",
            f"{person} approved the {thing}",
            f"call {person} about {thing}",
            f"{thing}: {rng.randint(2, 90)} left",
            f"{thing} {field} is {VALUES[scene.fields[field]](rng)}",
            f"no {thing} before {VALUES['time'](rng)}",
            f"{person} takes over {thing}",
            f"check {thing} in {rng.choice(PLACES)}",
            f"{thing} waits for {VALUES['code'](rng)}",
            f"{day} {VALUES['time'](rng)} {thing}",
        ]
    )
