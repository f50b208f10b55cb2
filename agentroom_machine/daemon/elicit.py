"""An agent's plain questions: from a form to questions with options, and from answers back to the form's fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Value = str | int | float | bool | list[str]


@dataclass(frozen=True)
class Field:
    """One question of a form."""

    name: str
    text: str
    options: tuple[str, ...]
    kind: str
    values: tuple[Any, ...] = ()
    """What each option stands for."""
    free: str = ""
    """Another field that takes an answer in the person's own words."""

    def fill(self, answer: str) -> dict[str, Value]:
        """The fields that this answer sets; empty when it fits none."""
        answer = answer.strip()
        if self.kind == "array":
            picked = [part.strip() for part in answer.split(",")]
            known = [str(self.values[self.options.index(part)]) for part in picked if part in self.options]
            own = ", ".join(part for part in picked if part and part not in self.options)
            filled: dict[str, Value] = {self.name: known} if known else {}
            if own and self.free:
                filled[self.free] = own
            return filled
        if answer in self.options:
            return {self.name: self.values[self.options.index(answer)]}
        if self.kind in {"integer", "number"}:
            try:
                return {self.name: int(answer) if self.kind == "integer" else float(answer)}
            except ValueError:
                return {}
        if self.free:
            return {self.free: answer}
        return {} if self.options else {self.name: answer}


def fields(message: str, schema: Mapping[str, Any]) -> list[Field]:
    """The questions of a form; a text field right after a choice is its "other", not a question of its own."""
    found: list[Field] = []
    properties = schema.get("properties")
    for name, shape in properties.items() if isinstance(properties, Mapping) else ():
        if not isinstance(shape, Mapping):
            continue
        kind = str(shape.get("type") or "string")
        options, values = _options(shape, kind)
        last = found[-1] if found else None
        if kind == "string" and not options and last and last.options and not last.free and name.startswith(last.name):
            found[-1] = Field(last.name, last.text, last.options, last.kind, last.values, free=name)
            continue
        words = [str(shape[key]) for key in ("title", "description") if isinstance(shape.get(key), str)]
        found.append(Field(name, " – ".join(words), options, kind, values))
    single = len(found) == 1
    return [Field(f.name, message if single else f.text or message, f.options, f.kind, f.values, f.free) for f in found]


def _options(shape: Mapping[str, Any], kind: str) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    if kind == "boolean":
        return ("yes", "no"), (True, False)
    inner = shape.get("items") if kind == "array" else shape
    if not isinstance(inner, Mapping):
        return (), ()
    listed = inner.get("oneOf") or inner.get("anyOf") or []
    if isinstance(listed, Sequence) and listed:
        pairs = [(str(o.get("title") or o.get("const")), o.get("const")) for o in listed if isinstance(o, Mapping)]
    else:
        pairs = [(str(value), value) for value in inner.get("enum") or []]
    return tuple(title for title, _ in pairs[:20]), tuple(value for _, value in pairs[:20])
