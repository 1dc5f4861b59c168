"""What programs send: checked in form here; whether it can be audited is for the library to say."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cfad_core.core.config import DEFAULT_METHODS, AskedDetector, AuditConfig, Knowledge, preset
from cfad_core.data.attributes import MAX_BANDS, MAX_GROUPS, Attribute
from cfad_core.data.roles import MAX_ATTRIBUTES
from cfad_core.runs.access import MOST_NAME
from cfad_core.runs.plan import LONGEST_EXPECTATION, LONGEST_NAME

Sent = TypeVar("Sent", bound=BaseModel)

_MOST_COLUMNS, _MOST_VALUES = 1_000, 1_000
_NO_NUL = r"^[^\x00]*$"  # which a database may refuse to keep

Name = Annotated[str, Field(min_length=1, max_length=MOST_NAME, pattern=_NO_NUL)]
Value = Annotated[str, Field(max_length=1_000)]
Columns = Annotated[list[Value], Field(max_length=_MOST_COLUMNS)]
Values = Annotated[list[Value], Field(max_length=_MOST_VALUES)]


class _Sent(BaseModel):
    """Nothing unknown, nothing turned into something else, no number that is none."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class SensitiveColumn(_Sent):
    """A sensitive column, its groups, and which of them are compared."""

    column: Value
    groups: Values | None = Field(None, description="its values to compare, of two the disadvantaged one first")
    merged: dict[str, Values] = Field({}, max_length=MAX_GROUPS, description="by name of a group, the values it holds")
    others: Value | None = Field(None, description="the name of a group of all other values")
    cuts: list[float] = Field([], max_length=MAX_GROUPS, description="of numbers: cut points between groups")
    bands: Annotated[int, Field(ge=2, le=MAX_BANDS)] | None = Field(None, description="of numbers: so many groups")
    reference: Value | None = Field(None, description="the group that each other one is compared with")
    compare: Values = Field([], description="the groups that people are moved to; by default all")

    def attribute(self) -> Attribute:
        return Attribute(
            self.column,
            groups=None if self.groups is None else tuple(self.groups),
            merged={name: tuple(values) for name, values in self.merged.items()},
            others=self.others,
            cuts=tuple(self.cuts),
            bands=self.bands,
            reference=self.reference,
            compare=tuple(self.compare),
        )


class OwnDetector(_Sent):
    """A detector outside this program: the audit waits until it has scored rows."""

    name: Annotated[str, Field(max_length=MOST_NAME)] = AskedDetector().name
    carried: Columns = Field([], description="ignored columns that it needs to see")
    people: Annotated[int, Field(ge=100, le=10**6)] = Field(AskedDetector().people, description="whose twins it scores")

    def asked(self) -> AskedDetector:
        return AskedDetector(name=self.name, carried=tuple(self.carried), people=self.people)


class Plan(_Sent):
    """Seal the audit before any result is seen; it is started later."""

    by: Annotated[str, Field(max_length=LONGEST_NAME, pattern=_NO_NUL)] = ""
    expectation: Annotated[str, Field(max_length=LONGEST_EXPECTATION, pattern=_NO_NUL)] = ""


class NewAudit(_Sent):
    """What an audit is made from, besides the tables."""

    name: Name
    sensitive: Annotated[list[Value | SensitiveColumn], Field(min_length=1, max_length=MAX_ATTRIBUTES)]
    label: Value | None = Field(None, description="the column that says who is an anomaly")
    anomaly: Value | None = Field(None, description="the label's value that means anomaly")
    ignore: Columns | None = Field(None, description="columns to leave out; null: those that are suggested")
    score_column: Value | None = Field(None, description="the table's column with scores of your own detector")
    methods: Annotated[list[Name], Field(max_length=50)] = Field(
        list(DEFAULT_METHODS), description="detectors to audit"
    )
    preset: Literal["fast", "paper"] = "fast"
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0
    subsamples: Annotated[int, Field(ge=0, le=200)] | None = Field(None, description="0: do not measure uncertainty")
    quantile: Annotated[float, Field(ge=0.0, le=1.0)] = Field(AuditConfig().quantile, description="sets the threshold")
    categories: Literal["levels", "most-frequent"] = "levels"
    knowledge: dict[str, Any] | None = Field(
        None,
        description="what is known of the causal graph, as the file of --knowledge has it; null: columns that look as "
        "if nothing in the table caused them have no causes",
    )
    detector: OwnDetector | None = Field(None, description="a detector of your own to ask for scores")
    plan: Plan | None = None
    sheet: Value | None = Field(None, description="of an Excel file; null: the largest one")
    header: bool = Field(True, description="whether the first line holds the names of the columns")

    def attributes(self) -> tuple[Attribute, ...]:
        return tuple(Attribute(one) if isinstance(one, str) else one.attribute() for one in self.sensitive)

    def config(self, knowledge: Knowledge) -> AuditConfig:
        """The settings, with what is known of the causal graph."""
        found = preset(
            self.preset,
            methods=tuple(self.methods),
            seed=self.seed,
            quantile=self.quantile,
            categories=self.categories,
            knowledge=knowledge,
            asked=None if self.detector is None else self.detector.asked(),
        )
        return found if self.subsamples is None else found.replace(subsamples=self.subsamples)


class Answers(_Sent):
    """How a table of scores is to be read."""

    high_means: Literal["anomalous", "normal"] | None = Field(
        None, description="what a high score means; not needed for flags 0 and 1"
    )
    threshold: float | None = Field(None, description="the score strictly above which the detector flags")
    column: Value | None = Field(None, description="that holds the scores; null: the one that was not asked about")


class Change(_Sent):
    """What of an audit is to be changed; what is not there stays."""

    name: Name | None = None
    note: Annotated[str, Field(max_length=10_000, pattern=_NO_NUL)] | None = None


def form_schema(kind: type[BaseModel]) -> dict[str, Any]:
    """What the OpenAPI document says of a form's field that holds JSON of this kind."""
    schema = {"$ref": f"#/components/schemas/{kind.__name__}"}
    return {"contentMediaType": "application/json", "contentSchema": schema}


def from_form(kind: type[Sent], text: str, field: str) -> Sent:
    """Read a form's field that holds JSON.

    Raises
    ------
    RequestValidationError
        With all that is wrong with it.
    """
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        lines = error.errors(include_url=False, include_context=False, include_input=False)
        raise RequestValidationError([{**line, "loc": (field, *line["loc"])} for line in lines]) from error
