"""The same operators on `torch.library`: what its opcheck says of them, and what they compute."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from operator_cases import Case, cases

import minilib.library as library
import minilib.tensor as t
from parity.peer import torch

OURS = cases(library, t, "parity")
THEIRS = cases(torch.library, torch, "parity")


def condemned(library: Any, case: Case) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = library.opcheck(case.op, case.args, case.kwargs or {}, raise_exception=False)
    return any(verdict != "SUCCESS" for verdict in found.values())


@pytest.mark.parametrize("name", OURS)
def test_pytorch_agrees_about_an_operator_unless_we_know_why(name: str) -> None:
    ours = condemned(library, OURS[name])
    assert condemned(torch.library, THEIRS[name]) == (ours and not OURS[name].torch_passes)


def test_both_agree_on_thirty_operators_of_which_twenty_are_broken() -> None:
    agreed = [case for case in OURS.values() if not case.torch_passes]
    assert len(agreed) >= 30
    assert sum(bool(case.fails) for case in agreed) >= 20


@pytest.mark.parametrize("name", [name for name, case in OURS.items() if not case.fails])
def test_results_and_gradients_are_those_on_pytorch(name: str) -> None:
    made = []
    for case in (OURS[name], THEIRS[name]):
        results = case.op(*case.args, **(case.kwargs or {}))
        results = results if isinstance(results, tuple) else (results,)
        results = tuple(x for x in results if x is not None)
        leaves = [x for one in case.args for x in (one if isinstance(one, list) else [one])]
        leaves = [x for x in leaves if getattr(x, "requires_grad", False)]
        for x in leaves:
            x.retain_grad()
        if leaves:
            sum((x * x).sum() for x in results if x.requires_grad).backward()
        made.append([x.detach().numpy() for x in (*results, *(x.grad for x in leaves))])
    for a, b in zip(*made, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_schemas_are_pytorchs() -> None:
    def ours(x: t.Tensor, y: t.Tensor | None, n: int = 3, by: float = 2.0, s: str = "a", *, k: bool) -> None:
        raise NotImplementedError

    def theirs(
        x: torch.Tensor, y: torch.Tensor | None, n: int = 3, by: float = 2.0, s: str = "a", *, k: bool
    ) -> None:
        raise NotImplementedError

    for written in ((), {"x"}):
        mine = library.infer_schema(ours, mutates_args=written)
        assert mine == torch.library.infer_schema(theirs, mutates_args=written)
