"""Whatever uses the value of a pending parameter waits for it; what does not, does not."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from motet.torch.overlap.pending_parameters import await_value, make_pending

NEW = 7.0


class Outstanding:
    """A module whose parameters are all pending; `arrived`: names, in order."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module
        self.arrived: list[str] = []
        for name, parameter in module.named_parameters():
            make_pending([parameter], self._arrival(name, parameter))

    def _arrival(self, name: str, parameter: nn.Parameter) -> Callable[[], None]:
        def arrive() -> None:
            self.arrived.append(name)
            with torch.no_grad():
                parameter.fill_(NEW)

        return arrive


def _saved(module: nn.Module) -> Any:
    torch.save(module, file := io.BytesIO())
    file.seek(0)
    return torch.load(file, weights_only=False).weight


USES: dict[str, Callable[[nn.Linear], Any]] = {
    "layer": lambda m: m(torch.ones(1)).detach() - NEW,
    "arithmetic": lambda m: m.weight * 1,
    "list": lambda m: torch.cat([torch.zeros(0, 1), m.weight]),
    "keyword": lambda m: torch.mul(input=torch.ones(1, 1), other=m.weight),
    "foreach": lambda m: torch._foreach_mul([m.weight], 1.0)[0],
    "data": lambda m: m.weight.data,
    "detach": lambda m: m.weight.detach(),
    "numpy": lambda m: torch.from_numpy(m.weight.detach().numpy()),
    "item": lambda m: torch.tensor([[m.weight.item()]]),
    "state_dict": lambda m: m.state_dict()["weight"],
    "deepcopy": lambda m: copy.deepcopy(m).weight,
    "pickle": lambda m: pickle.loads(pickle.dumps(m)).weight,
    "save": _saved,
    "memory": lambda m: (m.weight.data_ptr(), m.weight)[1],
}


@pytest.mark.parametrize("use", USES)
def test_a_use_waits_for_the_value(use: str) -> None:
    found = Outstanding(nn.Linear(1, 1))
    value = USES[use](found.module)  # type: ignore[arg-type]
    assert value.tolist() == [[NEW]] or use == "layer"
    assert found.arrived[:1] == ["weight"]
    assert found.arrived.count("weight") == 1
    assert type(found.module.weight) is nn.Parameter


def test_what_needs_no_value_does_not_wait() -> None:
    found = Outstanding(nn.Linear(2, 3))
    optimizer = torch.optim.SGD(found.module.parameters(), lr=0.1)
    optimizer.zero_grad()
    optimizer.step()
    found.module.train().requires_grad_(True)
    nn.utils.clip_grad_norm_(found.module.parameters(), 1.0)
    sizes = [(p.shape, p.dtype, p.device, p.numel(), p.is_leaf) for p in found.module.parameters()]
    assert sizes[0] == ((3, 2), torch.float32, torch.device("cpu"), 6, True)
    assert found.arrived == []


def test_a_forward_pass_waits_layer_by_layer() -> None:
    """Attention reads the weights of a submodule that it does not call."""
    model = nn.Sequential(nn.Linear(4, 4), nn.TransformerEncoderLayer(4, 2, 8), nn.Linear(4, 1))
    found = Outstanding(model)
    model[0](torch.ones(1, 4))
    assert set(found.arrived) == {"0.weight", "0.bias"}
    model[1](torch.ones(1, 4))
    assert not [name for name in found.arrived if name.startswith("2.")]
    assert len(found.arrived) == len([*model.named_parameters()]) - 2
    assert found.arrived.index("1.self_attn.out_proj.weight") < found.arrived.index(
        "1.linear1.weight"
    )


def test_gradients_pass_through_a_parameter_that_came_in_the_forward_pass() -> None:
    found = Outstanding(nn.Linear(1, 1, bias=False))
    found.module(torch.full((1,), 3.0)).sum().backward()
    assert found.module.weight.grad is not None
    assert found.module.weight.grad.tolist() == [[3.0]]


def test_a_value_that_did_not_come_stays_outstanding() -> None:
    module = nn.Linear(1, 1, bias=False)
    answers = [TimeoutError("late"), None]

    def arrive() -> None:
        if error := answers.pop(0):
            raise error

    make_pending([module.weight], arrive)
    with pytest.raises(TimeoutError, match="late"):
        module(torch.ones(1))
    await_value(module.weight)
    assert answers == []


def test_a_subclass_of_parameter_waits_at_once() -> None:
    class Own(nn.Parameter):
        pass

    called = []
    plain = nn.Parameter(torch.ones(1))
    make_pending([plain, Own(torch.ones(1))], lambda: called.append(1))
    assert called == [1]
    assert type(plain) is nn.Parameter
