"""A module of Quint's intermediate representation as a module of TLA+.

Quint's own translation is a part of Apalache, which is not on the registries of packages. This one knows what the
specifications in spec/ use, and refuses everything else. Types are left out. What differs between the languages:

- A value of a sum type is a record of its tag and, under `of_TAG`, what it carries, so that values of two tags have
  different fields and can be compared.
- Maps are functions, lists are sequences that begin at 1.
- `nondet` is a bounded existential quantifier, an assignment an equation with a primed variable; of `init`, without.
- TLA+ forbids two meanings of a name where scopes overlap: locals get numbers.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Final

Node = Mapping[str, Any]
Scope = Mapping[str, str]

INDENT: Final = "  "
INFIX: Final = {
    "eq": "=", "neq": "/=", "iadd": "+", "isub": "-", "imul": "*", "idiv": r"\div", "imod": "%",
    "ilt": "<", "ilte": "<=", "igt": ">", "igte": ">=", "implies": "=>", "iff": "<=>",
    "in": r"\in", "subseteq": r"\subseteq", "union": r"\union", "intersect": r"\intersect", "exclude": "\\",
    "to": "..",
}  # fmt: skip
PREFIX: Final = {
    "not": "~", "iuminus": "-", "keys": "DOMAIN ", "flatten": "UNION ", "powerset": "SUBSET ",
}  # fmt: skip
CALLS: Final = {
    "size": "Cardinality", "length": "Len", "concat": "Concat", "head": "Head", "tail": "Tail", "append": "Append",
    "range": "RangeOf", "put": "Put", "indices": "IndicesOf",
}  # fmt: skip
JUNCTIONS: Final = {"and": "/\\", "actionAll": "/\\", "or": "\\/", "actionAny": "\\/"}

NUMBERED: Final = re.compile(r"_+\d+$")
"""What flattening adds to names."""

HELPERS: Final = r"""
\* --- What Quint has and TLA+ has not ---
Put(m, k, v) == [x \in (DOMAIN m) \union {k} |-> IF x = k THEN v ELSE m[x]]
IndicesOf(s) == 0..(Len(s) - 1)
RangeOf(from, to) == [i \in 1..(to - from) |-> from + i - 1]
\* What was folded so far is an element of a set, so that TLC evaluates it once and not wherever `op` names it.
FoldSet(op(_, _), base, S) ==
  LET iter[T \in SUBSET S] ==
        IF T = {} THEN base
        ELSE LET x == CHOOSE y \in T : TRUE IN CHOOSE r \in {op(z, x) : z \in {iter[T \ {x}]}} : TRUE
  IN iter[S]
FoldSeq(op(_, _), base, s) ==
  LET iter[i \in 0..Len(s)] ==
        IF i = 0 THEN base ELSE CHOOSE r \in {op(z, s[i]) : z \in {iter[i - 1]}} : TRUE
  IN iter[Len(s)]
Select(s, test(_)) == SelectSeq(s, test)
"""


class UntranslatableError(Exception):
    """The specification uses what this translation does not know."""


def translated(module: Node, name: str, view: Sequence[str]) -> str:
    """The TLA+ module of a flattened Quint module that has `q::init`, `q::step` and `q::inv`.

    `view` names the variables that make two states different ones; the others describe the step that led there, and
    `Always` looks at them after each step. Raises UntranslatableError.
    """
    return _Translation(module, name, view).text()


class _Translation:
    def __init__(self, module: Node, name: str, view: Sequence[str]) -> None:
        self._declarations = module["declarations"]
        self._name = name
        self._view = view
        self._numbers = count(1)
        self._is_init = False
        self._globals = {each["name"]: _short(each["name"]) for each in self._declarations}
        taken = list(self._globals.values())
        assert len(taken) == len(set(taken)), "two definitions of one name"
        self._taken = set(taken)

    def text(self) -> str:
        variables = [_short(each["name"]) for each in self._declarations if each["kind"] == "var"]
        lines = [
            f"---- MODULE {self._name} ----",
            r"\* Translated from Quint by `python -m workshop.tlaplus --write`; spec/*.qnt has the sources.",
            "EXTENDS Integers, Sequences, FiniteSets, TLC",
            "",
            f"VARIABLES {', '.join(variables)}",
            HELPERS,
        ]
        for each in self._declarations:
            if each["kind"] == "def":
                lines += [*self._definition(each), ""]
        state = f"<<{', '.join(variables)}>>"
        lines += [
            f"View == <<{', '.join(name for name in variables if name in self._view)}>>",
            f"Spec == q_init /\\ [][q_step]_{state}",
            r"\* After each step, also one that leads to a state that is known already.",
            f"Always == [][q_inv']_{state}",
            "====",
            "",
        ]
        return "\n".join(lines)

    def _definition(self, each: Node) -> Iterator[str]:
        self._is_init = each["name"].rpartition("::")[2] == "init"
        if each.get("doc"):
            yield from (rf"\* {line}".rstrip() for line in str(each["doc"]).splitlines())
        head, body = self._head(each["expr"], {})
        yield f"{_short(each['name'])}{head} =="
        yield from _indented(body)

    def _head(self, expression: Node, scope: Scope) -> tuple[str, list[str]]:
        """Parameters and body of what a name is defined as."""
        if expression["kind"] != "lambda" or not expression["params"]:
            return "", self._lines(expression, scope)
        names, inner = self._bound([each["name"] for each in expression["params"]], scope)
        return f"({', '.join(names)})", self._lines(expression["expr"], inner)

    def _bound(self, names: Sequence[str], scope: Scope) -> tuple[list[str], Scope]:
        found = []
        inner = dict(scope)
        for name in names:
            plain = NUMBERED.sub("", _short(name)).strip("_") or "any"
            unique = f"{plain}_{next(self._numbers)}"
            inner[name] = unique
            found.append(unique)
        return found, inner

    # -- expressions ----------------------------------------------------------------------------

    def _flat(self, expression: Node, scope: Scope) -> str:
        """An expression on one line; LET and junctions in brackets."""
        lines = self._lines(expression, scope)
        text = " ".join(line.strip() for line in lines)
        simple = (
            expression["kind"] in {"name", "str", "int", "bool"}
            or text[0] in "<[{"
            or _is_call(text)
        )
        return text if simple else f"({text})"

    def _lines(self, expression: Node, scope: Scope) -> list[str]:
        match expression["kind"]:
            case "bool":
                return ["TRUE" if expression["value"] else "FALSE"]
            case "int":
                return [str(expression["value"])]
            case "str":
                return [f'"{expression["value"]}"']
            case "name":
                return [self._named(expression["name"], scope)]
            case "let":
                return self._let(expression, scope)
            case "app":
                return self._application(expression["opcode"], expression["args"], scope)
            case "lambda" if not expression["params"]:
                return self._lines(expression["expr"], scope)
        raise UntranslatableError(f"{expression['kind']} {expression.get('id')}")

    def _named(self, name: str, scope: Scope) -> str:
        if name in scope:
            return scope[name]
        if name in self._globals:
            return self._globals[name]
        raise UntranslatableError(f"unknown name {name}")

    def _let(self, expression: Node, scope: Scope) -> list[str]:
        defined = expression["opdef"]
        (name,), inner = self._bound([defined["name"]], scope)
        if defined["qualifier"] == "nondet":
            chosen = defined["expr"]
            if chosen["kind"] != "app" or chosen["opcode"] != "oneOf":
                raise UntranslatableError(f"nondet {defined['name']}")
            head = rf"\E {name} \in {self._flat(chosen['args'][0], scope)} :"
            return [head, *_indented(self._lines(expression["expr"], inner))]
        head, body = self._head(defined["expr"], scope)
        return [
            f"LET {name}{head} ==",
            *_indented(body, 2),
            "IN",
            *_indented(self._lines(expression["expr"], inner)),
        ]

    def _application(self, operator: str, args: Sequence[Node], scope: Scope) -> list[str]:
        if operator in JUNCTIONS:
            return self._junction(JUNCTIONS[operator], args, scope)
        if operator == "ite":
            condition, then, other = args
            return [
                f"IF {self._flat(condition, scope)}",
                "THEN",
                *_indented(self._lines(then, scope)),
                "ELSE",
                *_indented(self._lines(other, scope)),
            ]
        if operator == "matchVariant":
            return self._match(args, scope)
        if operator == "assign":
            mark = "" if self._is_init else "'"
            return [
                f"{self._flat(args[0], scope)}{mark} =",
                *_indented(self._lines(args[1], scope)),
            ]
        return [self._value(operator, args, scope)]

    def _junction(self, sign: str, args: Sequence[Node], scope: Scope) -> list[str]:
        found: list[str] = []
        for each in args:
            first, *rest = self._lines(each, scope)
            # In brackets, since indentation carries meaning in a list of conditions.
            lines = [f"({first}", *(f" {line}" for line in rest)]
            found += [f"{sign} {lines[0]}", *(f"   {line}" for line in lines[1:])]
            found[-1] += ")"
        return found

    def _match(self, args: Sequence[Node], scope: Scope) -> list[str]:
        (matched,), _ = self._bound(["matched"], scope)
        cases: list[str] = []
        for tag, handler in zip(args[1::2], args[2::2], strict=True):
            names, inner = self._bound([each["name"] for each in handler["params"]], scope)
            body = self._lines(handler["expr"], inner)
            label = tag["value"]
            if label == "_":
                cases.append("[] OTHER ->")
            else:
                cases.append(f'{"[] " if cases else "CASE "}{matched}.tag = "{label}" ->')
                if names and names[0] in " ".join(body):
                    body = [f"LET {names[0]} == {matched}.of_{label} IN", *body]
            cases += _indented(body, 2)
        return [f"LET {matched} == {self._flat(args[0], scope)} IN", *cases]

    def _value(self, operator: str, args: Sequence[Node], scope: Scope) -> str:
        def flat(number: int) -> str:
            return self._flat(args[number], scope)

        flats = (self._flat(each, scope) for each in args)
        if operator in INFIX:
            return f"{flat(0)} {INFIX[operator]} {flat(1)}"
        if operator in PREFIX:
            return f"{PREFIX[operator]}{flat(0)}"
        if operator in CALLS:
            return f"{CALLS[operator]}({', '.join(flats)})"
        match operator:
            case "Set":
                return f"{{{', '.join(flats)}}}"
            case "Tup" | "List":
                return f"<<{', '.join(flats)}>>"
            case "Map":
                if not args:
                    return r"[x \in {} |-> 0]"
                pairs = (
                    f"({self._flat(k, scope)} :> {self._flat(v, scope)})"
                    for k, v in map(_pair, args)
                )
                return " @@ ".join(pairs)
            case "Rec":
                fields = (
                    f"{name['value']} |-> {self._flat(value, scope)}"
                    for name, value in zip(args[::2], args[1::2], strict=True)
                )
                return f"[{', '.join(fields)}]"
            case "field":
                return f"{flat(0)}.{args[1]['value']}"
            case "with":
                return f"[{flat(0)} EXCEPT !.{args[1]['value']} = {flat(2)}]"
            case "item":
                return f"{flat(0)}[{args[1]['value']}]"
            case "variant":
                tag, carried = args[0]["value"], args[1]
                nothing = (
                    carried["kind"] == "app" and carried["opcode"] == "Tup" and not carried["args"]
                )
                more = "" if nothing else f", of_{tag} |-> {flat(1)}"
                return f'[tag |-> "{tag}"{more}]'
            case "contains":
                return rf"{flat(1)} \in {flat(0)}"
            case "get":
                return f"{flat(0)}[{flat(1)}]"
            case "nth":
                return f"{flat(0)}[{flat(1)} + 1]"
            case "setOfMaps":
                return f"[{flat(0)} -> {flat(1)}]"
            case "mapBy":
                name, body = self._inline(args[1], scope)
                return rf"[{name} \in {flat(0)} |-> {body}]"
            case "map":
                name, body = self._inline(args[1], scope)
                return rf"{{{body} : {name} \in {flat(0)}}}"
            case "filter":
                name, body = self._inline(args[1], scope)
                return rf"{{{name} \in {flat(0)} : {body}}}"
            case "forall" | "exists":
                name, body = self._inline(args[1], scope)
                quantifier = {"forall": r"\A", "exists": r"\E"}[operator]
                return rf"{quantifier} {name} \in {flat(0)} : {body}"
            case "select":
                return f"Select({flat(0)}, {self._function(args[1], scope)})"
            case "fold" | "foldl":
                name = "FoldSet" if operator == "fold" else "FoldSeq"
                return f"{name}({self._function(args[2], scope)}, {flat(1)}, {flat(0)})"
        if operator in scope or operator in self._globals:
            return f"{self._named(operator, scope)}({', '.join(flats)})"
        raise UntranslatableError(f"operator {operator}")

    def _inline(self, function: Node, scope: Scope) -> tuple[str, str]:
        """Parameter and body of a function of one argument."""
        if function["kind"] != "lambda":
            (name,), _ = self._bound(["each"], scope)
            return name, f"{self._named(function['name'], scope)}({name})"
        (name,), inner = self._bound([each["name"] for each in function["params"]], scope)
        return name, self._flat(function["expr"], inner)

    def _function(self, function: Node, scope: Scope) -> str:
        """A function as an argument of an operator."""
        if function["kind"] != "lambda":
            return self._named(function["name"], scope)
        names, inner = self._bound([each["name"] for each in function["params"]], scope)
        return f"LAMBDA {', '.join(names)} : {self._flat(function['expr'], inner)}"


def _short(name: str) -> str:
    """The last part of a qualified name, as TLA+ can spell it; `q::step` is `q_step`."""
    first, _, rest = name.partition("::")
    return f"q_{rest}" if first == "q" else name.rpartition("::")[2]


def _pair(each: Node) -> tuple[Node, Node]:
    if each["kind"] != "app" or each["opcode"] != "Tup":
        raise UntranslatableError("a map of pairs that are no tuples")
    key, value = each["args"]
    return key, value


def _is_call(text: str) -> bool:
    """Whether a text is one name, or one call of it."""
    name, bracket, rest = text.partition("(")
    if not name.replace("_", "").isalnum() or name.startswith(
        ("LET", "IF", "CASE", "UNION", "SUBSET", "DOMAIN")
    ):
        return False
    if not bracket:
        return True
    depth = 1
    for at, sign in enumerate(rest):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return at == len(rest) - 1
    return False


def _indented(lines: Sequence[str], steps: int = 1) -> list[str]:
    return [f"{INDENT * steps}{line}" for line in lines]
