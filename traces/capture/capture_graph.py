#!/usr/bin/env python3
"""Captures the forward and backward graphs of one training step of a PyTorch model, for sgsim.

    python capture_graph.py --module mymodels:make_gpt -o gpt.graph.json.gz

`make_gpt` is a function without arguments that returns (model, example_inputs) or (model, example_inputs, loss_fn).
`example_inputs` is a tuple of positional arguments or a dict of keyword arguments; `loss_fn(output)` makes the scalar loss
out of what the model returns (default: its `.loss`, or itself when it is a scalar tensor). The step is compiled with
torch.compile (Dynamo and AOTAutograd, no code generation) and run once, forward and backward; what AOTAutograd hands to a
compiler is written as docs/formats/graph.md says. Nothing is trained. Needs PyTorch 2.x only.

For a model too large for this machine, build it with fewer layers and stack them in sgsim ("layers" of a scenario).
"""
import argparse
import gzip
import importlib
import json
import math
import os
import sys

import torch
import torch._dynamo
import torch._dynamo.utils
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func


def _tensor(value):
    """Shape, type and strides of a traced tensor; None for what is no tensor."""
    if not isinstance(value, torch.Tensor):
        return None
    return {
        "shape": [int(size) for size in value.shape],
        "dtype": str(value.dtype).removeprefix("torch."),
        "stride": [int(step) for step in value.stride()] if value.layout is torch.strided else None,
    }


def _outs(node):
    value = node.meta.get("val")
    if isinstance(value, (tuple, list)):
        return [_tensor(item) for item in value]
    return _tensor(value)


def _argument(value):
    """An argument as JSON: nodes by name, numbers and flags as they are, types and formats as text."""
    if isinstance(value, torch.fx.Node):
        return {"node": value.name}
    if isinstance(value, (list, tuple)):
        return [_argument(item) for item in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        raise SystemExit("capture_graph: a size depends on the data; give fixed example inputs")
    return str(value)


def _module(node):
    """Path and class of the innermost module that a node was traced in."""
    stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack")
    if not stack:
        return None
    path, kind = list(stack.values())[-1]
    name = kind if isinstance(kind, str) else kind.__name__
    return [path, name.rsplit(".", 1)[-1]]


def _node(node):
    return {
        "name": node.name,
        "op": node.op,
        "target": str(node.target),
        "args": [_argument(argument) for argument in node.args],
        "kwargs": {key: _argument(argument) for key, argument in node.kwargs.items()},
        "out": None if node.op == "output" else _outs(node),
        "module": _module(node),
        "seq_nr": node.meta.get("seq_nr"),
    }


def _graph(kind, module):
    nodes = []
    for node in module.graph.nodes:
        if node.op == "get_attr":
            raise SystemExit(f"capture_graph: the graph holds a constant tensor ({node.target}); register it as a buffer")
        nodes.append(_node(node))
    return {"graph": kind, "nodes": nodes}


def _sources(dynamo_module):
    """What each placeholder of a Dynamo graph is in the model: "L['self']...weight", or the name of an input."""
    names = []
    for node in dynamo_module.graph.nodes:
        if node.op != "placeholder":
            continue
        argument = node.meta.get("grapharg")
        source = getattr(node, "_dynamo_source", None) or getattr(argument, "source", None)
        name = getattr(source, "name", None)
        name = name() if callable(name) else name
        names.append(name if isinstance(name, str) else str(node.target))
    return names


class _Recorder:
    """A compiler for torch.compile that records the graphs and runs them as they are."""

    def __init__(self):
        self.graphs = []
        self.runs = []  # how often each recorded forward graph ran

    def __call__(self, dynamo_module, example_inputs):
        sources = _sources(dynamo_module)
        compiler = aot_autograd(
            fw_compiler=lambda module, inputs: self._forward(module, sources),
            bw_compiler=lambda module, inputs: self._backward(module),
            inference_compiler=lambda module, inputs: self._forward(module, sources),
        )
        return compiler(dynamo_module, example_inputs)

    def _forward(self, module, sources):
        graph = _graph("forward", module)
        primals = [node["name"] for node in graph["nodes"] if node["op"] == "placeholder"]
        if len(primals) == len(sources):
            graph["primals"] = dict(zip(primals, sources))
        self.graphs.append(graph)
        region = len(self.runs)
        self.runs.append(0)

        def run(*inputs):
            self.runs[region] += 1
            return module.forward(*inputs)

        return make_boxed_func(run)

    def _backward(self, module):
        self.graphs.append(_graph("backward", module))
        return make_boxed_func(module.forward)


def _trained_sources(graphs):
    """Parameters for which the captured backward graphs return a gradient, as Dynamo names them."""
    found = set()
    forwards = [graph for graph in graphs if graph["graph"] == "forward"]
    for backward in (graph for graph in graphs if graph["graph"] == "backward"):
        gradients = backward["nodes"][-1]["args"][0]
        for forward in forwards:
            names = list(forward.get("primals", {}).values())
            if len(names) == len(gradients):
                found.update(name for name, gradient in zip(names, gradients) if gradient and name.startswith("L['self']"))
    return found


def _check_whole(recorder, model):
    """A captured file must hold the whole step, each operator once."""
    reasons = "; ".join(sorted(str(reason).splitlines()[0] for reason in torch._dynamo.utils.counters["graph_break"])) or "none reported"
    hint = f"remove the graph breaks inside loops and modules (Dynamo's reasons: {reasons})"
    if any(runs != 1 for runs in recorder.runs):
        raise SystemExit(f"capture_graph: a compiled region ran {max(recorder.runs)} times in one step; {hint}")
    trained = sum(parameter.grad is not None for parameter in model.parameters())
    captured = len(_trained_sources(recorder.graphs))
    if captured < trained:
        raise SystemExit(f"capture_graph: {trained} parameters got gradients, {captured} of them in captured graphs; {hint}")


def _loss_of(output):
    loss = getattr(output, "loss", output)
    if isinstance(loss, (tuple, list)):
        loss = loss[0]
    if not isinstance(loss, torch.Tensor) or loss.dim() != 0:
        raise SystemExit("capture_graph: the model returns no scalar loss; give a loss_fn")
    return loss


def capture(model, example_inputs, loss_fn=None, autocast=None):
    """The graphs of one training step as a dict in the format of docs/formats/graph.md.

    model: a torch.nn.Module on any device, in train() mode as it is to be trained.
    example_inputs: a tuple of positional or a dict of keyword arguments; their shapes are the micro-batch.
    loss_fn: from the model's output to a scalar tensor; compiled with the model.
    autocast: a torch.dtype, to run the forward pass under torch.autocast as training would.
    """
    loss_fn = loss_fn or _loss_of
    args, kwargs = ((), example_inputs) if isinstance(example_inputs, dict) else (tuple(example_inputs), {})
    recorder = _Recorder()
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()

    class Step(torch.nn.Module):
        """Model and loss as one module, so that both are compiled; its attribute m is dropped from all paths."""

        def __init__(self):
            super().__init__()
            self.m = model

        def forward(self, *step_args, **step_kwargs):
            return loss_fn(self.m(*step_args, **step_kwargs))

    step = Step()
    step.train(model.training)
    device = next(model.parameters()).device.type
    compiled = torch.compile(step, backend=recorder, dynamic=False)
    with torch.autocast(device, dtype=autocast or torch.bfloat16, enabled=autocast is not None):
        loss = compiled(*args, **kwargs)
    for parameter in model.parameters():
        parameter.grad = None
    loss.backward()
    _check_whole(recorder, model)
    torch._dynamo.reset()
    for parameter in model.parameters():
        parameter.grad = None
    params = [[name, list(parameter.shape), str(parameter.dtype).removeprefix("torch.")] for name, parameter in step.named_parameters()]
    return {"model": type(model).__name__, "params": params, "graphs": recorder.graphs}


def write(captured, path):
    """Writes a captured dict; packed where the path ends in .gz."""
    text = json.dumps(captured, allow_nan=False)
    if path.endswith(".gz"):
        with open(path, "wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as file:
            file.write(text.encode())
    else:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def _factory(spec):
    module, _, name = spec.partition(":")
    if not name:
        raise SystemExit("capture_graph: --module takes package.module:function")
    sys.path.insert(0, os.getcwd())
    return getattr(importlib.import_module(module), name)


def main():
    parser = argparse.ArgumentParser(description="Capture the training graphs of a PyTorch model for sgsim.")
    parser.add_argument("--module", required=True, metavar="PKG.MOD:FACTORY", help="function that returns (model, example_inputs[, loss_fn])")
    parser.add_argument("--autocast", choices=["bfloat16", "float16"], help="run the forward pass under torch.autocast")
    parser.add_argument("-o", "--output", required=True, help="file to write, *.graph.json or *.graph.json.gz")
    options = parser.parse_args()
    made = _factory(options.module)()
    model, example_inputs, loss_fn = made if len(made) == 3 else (*made, None)
    autocast = getattr(torch, options.autocast) if options.autocast else None
    captured = capture(model, example_inputs, loss_fn, autocast)
    write(captured, options.output)
    nodes = sum(len(graph["nodes"]) for graph in captured["graphs"])
    print(f"{options.output}: {len(captured['graphs'])} graphs, {nodes} nodes, {len(captured['params'])} parameters (PyTorch {torch.__version__})")


if __name__ == "__main__":
    main()
