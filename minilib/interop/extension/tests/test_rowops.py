"""What the operators owe their callers, on each device that is there: run where the wheel is installed."""

import pytest
import rowops
import torch
import torch.nn.functional as F

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
LAYOUTS = {
    "plain": lambda x: x,
    "transposed": lambda x: x.transpose(-2, -1),
    "sliced": lambda x: x[:, ::2, 1:],
    "expanded": lambda x: x[:, :1].expand(-1, 3, -1),
    "empty": lambda x: x[:0],
    "without columns": lambda x: x[..., :0],
    "one element": lambda x: x[:1, :1, :1],
    "long rows": lambda x: x.reshape(1, -1).repeat(2, 400),
}


@pytest.fixture(params=[(device, layout) for device in DEVICES for layout in LAYOUTS], ids="-".join)
def x(request):
    device, layout = request.param
    torch.manual_seed(0)
    return LAYOUTS[layout](torch.randn(2, 4, 6, device=device)).detach().requires_grad_()


def test_values_and_gradients_are_those_of_pytorch(x):
    ours, theirs = rowops.softmax(x), F.softmax(x, -1)
    torch.testing.assert_close(ours, theirs)
    weights = torch.randn_like(theirs)
    found = [torch.autograd.grad(y, x, weights)[0] for y in (ours, theirs)]
    torch.testing.assert_close(*found)


def test_opcheck_has_nothing_against_them(x):
    y = F.softmax(x, -1).detach().requires_grad_()
    for op, inputs in ((rowops.softmax, (x,)), (rowops.softmax_backward, (torch.randn_like(y), y))):
        assert set(torch.library.opcheck(op, inputs).values()) == {"SUCCESS"}


def test_a_gradient_of_one_number_everywhere(x):
    """`sum` gives a gradient with strides 0."""
    rowops.softmax(x).sum().backward()
    torch.testing.assert_close(x.grad, torch.zeros_like(x))


def test_first_and_second_derivatives_by_finite_differences():
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(rowops.softmax, x)
    assert torch.autograd.gradgradcheck(rowops.softmax, x)


def test_large_scores_overflow_nothing():
    y = rowops.softmax(torch.tensor([[1000.0, 0.0], [-1000.0, -1000.0]]))
    torch.testing.assert_close(y, torch.tensor([[1.0, 0.0], [0.5, 0.5]]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((torch.tensor(1.0),), "expected a tensor with rows"),
        ((torch.ones(2, 3, dtype=torch.int64),), "takes float32 or float64"),
        ((torch.ones(2, 3), torch.ones(3, 2)), "has the shape of the result"),
        ((torch.ones(2, 3), torch.ones(2, 3, dtype=torch.float64)), "has the dtype of the result"),
    ],
)
def test_bad_input_is_refused_with_a_reason(arguments, message):
    operator = rowops.softmax if len(arguments) == 1 else rowops.softmax_backward
    with pytest.raises(RuntimeError, match=message):
        operator(*arguments)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_kernel_runs_on_the_stream_of_its_caller():
    x = torch.randn(4096, 4096, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(100_000_000)  # what comes after it on this stream comes late
        x.zero_()
        y = rowops.softmax(x)
    side.synchronize()
    torch.testing.assert_close(y, torch.full_like(y, 1 / 4096))
