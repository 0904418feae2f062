"""Judges whether a value is a secret rather than a placeholder, name, sentence or reference to a secret."""

import base64
import binascii
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from urllib.parse import unquote

LONGEST = 600
SHORTEST_PASSWORD = 6
SHORTEST_TOKEN = 12
# Bits per character. Random hexadecimal digits of this length have 3 or more, words and versions fewer.
TOKEN_ENTROPY = 3.0
# A value with fewer different characters is padding: xxxx, ****, 0000, abab.
FEWEST_CHARACTERS = 4
# Stock words with digits count as a real password from this length on: SuperSecret123 does, password1 does not.
LONGEST_STOCK = 10
# Fewest characters of a passphrase of three joined words.
SHORTEST_PHRASE = 9

_STOCK = re.compile(
    r"(?:(?:my|your|the|some|a|an|new|old|super|very|strong|weak|top|not|no|is|in|this|any|bad|good|wrong|right|invalid|valid|fake|mock|dummy"
    r"|test|tests|testing|tester|demo|sample|example|examples|foo|bar|baz|qux|quux|user|users|username|admin|root|guest|default"
    r"|pass|password|passwd|passphrase|pwd|pw|secret|secrets|token|tokens|access|auth|authorization|bearer|basic|refresh"
    r"|api|key|keys|apikey|value|val|string|str|text|name|id|data|field|db|database|postgres|mysql|redis|mongo|rabbitmq"
    r"|client|server|app|private|public|session|csrf|xsrf|bot|github|gitlab|aws|change|me|it|here|none|null|nil|true|false"
    r"|hello|world|hidden|masked|removed|redacted|something|anything|nothing|abc|abcd|abcdef|xyz|one|two|three|four|hash"
    r"|required|optional|empty|missing|unknown|undefined|todo|tbd|fixme|alice|bob|jwt|oauth|login|logout|local|localhost|prod|dev)"
    r"[\W_]*)+",
    re.I,
)
_PLACEHOLDER = re.compile(
    r"changeme|change[-_ ]?(?:me|this|it)|replace[-_ ]?(?:me|this|with)|place[-_ ]?holder|example|redacted|insert[-_ ]|"
    r"your[-_ ]|my[-_ ](?:secret|pass|token|key)|<[^>]*>|\bx{4,}|x{6,}|\*{3,}|\.{3}|…|_here\b|todo|fixme|dummy|"
    r"not[-_ ]?a[-_ ]?(?:real|secret)|x-(?:oauth|access)-(?:basic|token)|deadbeef|0123456789|1234567890|abcdefgh|lorem",
    re.I,
)
# A value kept elsewhere: ${VAR}, $(command), {{ template }}, %(name)s, #{ruby}, {name}, env:NAME, a path, a URL.
_REFERENCE = re.compile(
    r"^\$\w|[$#@]\{|\$\(|\{\{|%[({]|^%\w+%$|^%[a-z]$|\{[\w.!:]*\}|^@\w+@$|^<|^\w+://|^(?:~|\.{1,2})?/[\w.-]+"
    r"|^(?:env|file|vault|ssm|op|secret|arn|ref|kms|sops)[:/]|^!|^&\w|^process\.|^os\.|^System\.|^ENC\[|^AQICA|^-----"
    r"|^::|::|->|^(?:magnet|urn|data|mailto):",
    re.I,
)
_CODE = re.compile(r"[()\[\]{}<>;|\\]|=>|\s|&&|\+\+|,\w")
_DOTTED = re.compile(r"^[A-Za-z_$][\w$]*(?:[.][A-Za-z_$][\w$]*)+$")
# Words joined by signs, possibly numbered: some-name-2, oauth2.token.v1, CONSTANT_NAME, a MIME type, 3.14.1.
_WORDS = re.compile(r"^(?:v?\d{1,4}|[A-Za-z]+\d{0,2})(?:[-_./:@ +~](?:v?\d{1,4}|[A-Za-z]*\d{0,2}))*$")
_HUMPS = re.compile(r"[A-Z]?[a-z]+|[A-Z](?![a-z])")
# Further words in names of fields, labels and messages, besides _STOCK.
_OF_FORMS = re.compile(
    r"(?:forms?|inputs?|labels?|titles?|pages?|views?|buttons?|models?|types?|schemas?|enums?|errors?|messages?|forgot"
    r"|forgotten|resets?|reset|confirm|confirmation|repeat|enter|show|hide|toggle|update|create|edit|save|send|set|get"
    r"|is|has|on|no|with|from|for|of|by|to|and|or|min|max|length|strength|policy|rules?|format|hint|encoder|hasher"
    r"|hash|hashed|encrypted|encryption|plain|raw|stored|manager|provider|service|store|storage|grant|flow|code|codes"
    r"|file|path|env|var|variable|config|settings?|options?|property|attribute|column|param|params|parameter|argument"
    r"|class|component|container|wrapper|group|control|headers?|custom|request|response|url|uri|email|mail|phone"
    r"|secured?|security|protect|protected|change|changed|expired|expires?|less|free|word|based|only|own|self|node)",
    re.I,
)
# A number after a name rarely has three digits, unless it is a key size.
_NUMBERED = re.compile(r"[-_](?!128$|192$|256$|384$|512$)\d{3,}$")
_CONSTANT = re.compile(r"^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$")
_SIGNS = re.compile(r"[!@#$%^&*?~+=|]")
_UUID = re.compile(r"^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$", re.I)
_SIGNS_AT_END = "!?#=*@"
# Signs before a word, as in access-control lists: +password, >secret.
_SIGNS_AROUND = "+>~ "
_SEQUENCES = "01234567890abcdefghijklmnopqrstuvwxyz9876543210qwertyuiop"


def entropy(value: str) -> float:
    """Return the Shannon entropy in bits per character."""
    counts = Counter(value).values()
    return -sum(count / len(value) * math.log2(count / len(value)) for count in counts) if value else 0.0


def is_padding(value: str) -> bool:
    """Return whether a value has few different characters, like xxxx-xxxx."""
    return len(set(value)) < FEWEST_CHARACTERS


def is_placeholder(value: str) -> bool:
    """Return whether a value is a placeholder for a secret, or a reference to it."""
    value = unquote(value).strip(_SIGNS_AROUND)
    if is_padding(value) or len(value) > LONGEST or value.lower() in _SEQUENCES or not value.isprintable():
        return True
    return bool(_REFERENCE.search(value) or _PLACEHOLDER.search(value)) or _is_stock(value)


def _is_stock(value: str) -> bool:
    """Return whether a value consists of words that are common in examples and tests."""
    words = re.sub(r"[\d\W_]+", " ", value)
    return (
        len(value) < (LONGEST_STOCK if re.search(r"\d", value) else LONGEST)
        and _STOCK.fullmatch(words.strip() or "a") is not None
    )


def is_password(value: str) -> bool:
    """Return whether the value of a key named like a password may be a password, even a short or weak one."""
    value = unquote(value)
    if len(value) < SHORTEST_PASSWORD or is_placeholder(value) or _is_code(value):
        return False
    has_digit = any(character.isdigit() for character in value)
    if value.isdigit():
        return len(value) >= 8
    if has_digit:
        return not _is_numbered_name(value)
    has_sign = _SIGNS.search(value.strip(_SIGNS_AROUND + _SIGNS_AT_END))
    return bool(has_sign and re.search(r"[A-Za-z]", value)) or _is_mixed(value) or _is_phrase(value)


def is_literal_password(value: str) -> bool:
    """Return whether a value is a password where nothing else is possible, as in a URL; letters alone suffice."""
    value = unquote(value)
    return len(value) >= SHORTEST_PASSWORD and not is_placeholder(value) and not _is_code(value)


def _is_code(value: str) -> bool:
    return bool(_CODE.search(value) or _DOTTED.match(value) or _CONSTANT.match(value))


def _is_numbered_name(value: str) -> bool:
    """Return whether a value is words and numbers joined by signs, all in one case (not Zebra-9-qwerty)."""
    if not re.search(r"[-_./: ]", value) or not _WORDS.match(value) or _NUMBERED.search(value):
        return False
    return value in (value.lower(), value.upper()) or bool(re.search(r"[./: ]", value))


def _is_phrase(value: str) -> bool:
    """Return whether words make a passphrase (correct-horse-battery, iLoveCats) and not the name of a field or key."""
    if "-" in value:
        words = value.split("-")
        return len(words) >= 3 and all(len(word) >= 3 and word.isalpha() for word in words) and not _is_name(words)
    words = _HUMPS.findall(value)
    is_whole = "".join(words) == value and len(value) >= SHORTEST_PHRASE
    return is_whole and len(words) >= 3 and not _is_name(words)


def _is_name(words: Sequence[str]) -> bool:
    """Return whether words name a field, key or form: any of them is common in such names."""
    return any(_STOCK.fullmatch(word) or _OF_FORMS.fullmatch(word) for word in words)


def _is_mixed(value: str) -> bool:
    """Return whether letters look random: they change between upper and lower case more often than names do."""
    changes = sum(left.isupper() != right.isupper() for left, right in pairwise(value))
    if len(value) < 10 or not value.isalpha() or changes <= len(value) / 3 or entropy(value) < TOKEN_ENTROPY:
        return False
    # Short words can occur by chance.
    return not _is_name([word for word in _HUMPS.findall(value) if len(word) > 3])


def is_token(value: str) -> bool:
    """Return whether the value of a key named like a token may be a token: tokens are generated, so look random."""
    if len(value) < SHORTEST_TOKEN or is_placeholder(value) or _is_code(value):
        return False
    if _UUID.match(value):
        return True
    has_digit = any(character.isdigit() for character in value)
    if _WORDS.match(value) and not (len(value) >= 20 and _is_jumbled(value)):
        return False
    return (has_digit or _is_mixed(value)) and entropy(value) >= TOKEN_ENTROPY


def _is_jumbled(value: str) -> bool:
    """Return whether letters and digits alternate too often for words."""
    changes = sum(left.isdigit() != right.isdigit() for left, right in pairwise(value))
    return changes >= 4 or _is_mixed(value)


def is_mixed(value: str) -> bool:
    """Return whether a value has upper case, lower case and digits, like base64 of random bytes."""
    tests: tuple[Callable[[str], bool], ...] = (str.isupper, str.islower, str.isdigit)
    return all(any(map(test, value)) for test in tests) and not is_placeholder(value)


def is_basic(value: str) -> bool:
    """Return whether a value is the base64 of ``user:password``."""
    try:
        decoded = base64.b64decode(value + "=" * (-len(value) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        return False
    user, colon, password = decoded.partition(":")
    return bool(colon) and decoded.isprintable() and bool(user or password) and not is_placeholder(password or user)


JUDGES: dict[str, Callable[[str], bool]] = {
    "": lambda value: not is_padding(value),
    "password": is_password,
    "literal": is_literal_password,
    "token": is_token,
    "mixed": is_mixed,
    "basic": is_basic,
}
"""The tests for a rule's value, by the name that rules use."""
