"""Captures small models with a real PyTorch and reads them back through sgsim's reader.

    python capture_test.py CAPTURE_CHECK

CAPTURE_CHECK is the program of tests/capture/capture_check.cpp. Exit code 77: PyTorch is not installed (skipped).
"""
import collections
import os
import subprocess
import sys
import tempfile
import unittest

try:
    import torch
except ImportError:
    print(f"skipped: {sys.executable} has no PyTorch; set SGSIM_TORCH_PYTHON (CMake) to one that has")
    sys.exit(77)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "traces", "capture"))
import capture_graph  # noqa: E402

CHECK = None
VOCAB, HIDDEN, HEADS, LENGTH, BATCH = 64, 32, 4, 16, 3


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1 = torch.nn.LayerNorm(HIDDEN)
        self.qkv = torch.nn.Linear(HIDDEN, 3 * HIDDEN)
        self.out = torch.nn.Linear(HIDDEN, HIDDEN)
        self.ln_2 = torch.nn.LayerNorm(HIDDEN)
        self.up = torch.nn.Linear(HIDDEN, 4 * HIDDEN)
        self.down = torch.nn.Linear(4 * HIDDEN, HIDDEN)

    def forward(self, x):
        b, s, h = x.shape
        q, k, v = (part.view(b, s, HEADS, h // HEADS).transpose(1, 2) for part in self.qkv(self.ln_1(x)).split(h, dim=2))
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, s, h))
        return x + self.down(torch.nn.functional.gelu(self.up(self.ln_2(x))))


class Transformer(torch.nn.Module):
    """Two blocks, head tied to the embedding."""

    def __init__(self, layers=2, graph_break=None):
        super().__init__()
        self.embed = torch.nn.Embedding(VOCAB, HIDDEN)
        self.layers = torch.nn.ModuleList(Block() for _ in range(layers))
        self.norm = torch.nn.LayerNorm(HIDDEN)
        self.head = torch.nn.Linear(HIDDEN, VOCAB, bias=False)
        self.head.weight = self.embed.weight
        self.graph_break = graph_break

    def forward(self, ids, labels):
        x = self.embed(ids)
        if self.graph_break == "between":
            x = self.layers[0](x)
            torch._dynamo.graph_break()
            x = self.layers[1](x)
        else:
            for layer in self.layers:
                if self.graph_break == "in a loop":
                    torch._dynamo.graph_break()
                x = layer(x)
        logits = self.head(self.norm(x))
        loss = torch.nn.functional.cross_entropy(logits.view(-1, VOCAB), labels.view(-1))
        return {"loss": loss, "logits": logits}


class ConvNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(8)
        self.conv2 = torch.nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.bn2 = torch.nn.BatchNorm2d(8)
        self.fc = torch.nn.Linear(8, 10)

    def forward(self, images):
        x = torch.relu(self.bn1(self.conv1(images)))
        x = torch.relu(x + self.bn2(self.conv2(x)))
        return self.fc(x.mean((2, 3)))


def tokens():
    return {"ids": torch.zeros(BATCH, LENGTH, dtype=torch.long), "labels": torch.zeros(BATCH, LENGTH, dtype=torch.long)}


def loss_of(output):
    return output["loss"]


def make_transformer():
    """The factory that the command-line test names."""
    return Transformer(), tokens(), loss_of


class Facts:
    def __init__(self, captured, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "captured.graph.json.gz")
            capture_graph.write(captured, path)
            done = subprocess.run([CHECK, path, *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        self.lines = collections.defaultdict(list)
        for line in done.stdout.splitlines():
            kind, _, rest = line.partition(" ")
            self.lines[kind].append(rest)


class CaptureTest(unittest.TestCase):
    def check_parameters(self, facts, model):
        expected = sorted(f"{name} {str(p.dtype).removeprefix('torch.')}{list(p.shape)}" for name, p in model.named_parameters())
        self.assertEqual(sorted(facts.lines["parameter"]), expected)
        self.assertEqual(facts.lines["gradients"], [str(len(expected))])
        self.assertEqual(facts.lines["flaw"], [])

    def check_transformer(self, facts, layers):
        rows = BATCH * LENGTH
        counts = collections.Counter(line.split(" ", 1)[1].rsplit(" ", 1)[0] for line in facts.lines["matmul"] if line.startswith("forward"))
        self.assertEqual(counts, {
            f"1 {rows} {3 * HIDDEN} {HIDDEN}": layers,
            f"1 {rows} {HIDDEN} {HIDDEN}": layers,
            f"1 {rows} {4 * HIDDEN} {HIDDEN}": layers,
            f"1 {rows} {HIDDEN} {4 * HIDDEN}": layers,
            f"1 {rows} {VOCAB} {HIDDEN}": 1,
        })
        backward = [line for line in facts.lines["matmul"] if line.startswith("backward")]
        self.assertEqual(len(backward), 2 * (4 * layers + 1))
        shape = f"heads {HEADS} length {LENGTH} size {HIDDEN // HEADS} causal 1 mask 0"
        self.assertEqual(sorted(facts.lines["attention"]), [f"backward {shape}"] * layers + [f"forward {shape}"] * layers)
        self.assertEqual(facts.lines["batch"], [f"{BATCH} sequence {LENGTH}"])

    def test_transformer(self):
        model = Transformer()
        facts = Facts(capture_graph.capture(model, tokens(), loss_of))
        self.check_parameters(facts, model)
        self.check_transformer(facts, layers=2)
        modules = {line.rsplit(" ", 1)[1] for line in facts.lines["matmul"]}
        self.assertIn("layers.1.down", modules)
        self.assertNotIn("?", modules)

    def test_graph_break_gives_the_same_step(self):
        model = Transformer(graph_break="between")
        captured = capture_graph.capture(model, tokens(), loss_of)
        self.assertGreater(len(captured["graphs"]), 2)
        facts = Facts(captured)
        self.check_parameters(facts, model)
        self.check_transformer(facts, layers=2)

    def test_a_step_that_is_not_wholly_compiled_is_refused(self):
        with self.assertRaises(SystemExit) as refused:
            capture_graph.capture(Transformer(graph_break="in a loop"), tokens(), loss_of)
        self.assertIn("graph breaks", str(refused.exception))

    def test_stacked_layers_are_a_deeper_model(self):
        facts = Facts(capture_graph.capture(Transformer(), tokens(), loss_of), "5")
        self.check_parameters(facts, Transformer(layers=5))
        self.check_transformer(facts, layers=5)

    def test_autocast(self):
        model = Transformer()
        captured = capture_graph.capture(model, tokens(), loss_of, autocast=torch.bfloat16)
        targets = {node["target"] for graph in captured["graphs"] for node in graph["nodes"]}
        self.assertIn("aten._to_copy.default", targets)
        facts = Facts(captured)
        self.check_parameters(facts, model)
        self.check_transformer(facts, layers=2)

    def test_convolutions_and_buffers(self):
        model = ConvNet()
        labels = torch.zeros(4, dtype=torch.long)
        facts = Facts(capture_graph.capture(model, (torch.zeros(4, 3, 16, 16),), lambda y: torch.nn.functional.cross_entropy(y, labels)))
        self.check_parameters(facts, model)
        self.assertEqual(facts.lines["convolutions"], [str(2 + 3)])  # forward; backward of conv1 has no input gradient
        names = {line.split(" ")[0] for line in facts.lines["buffer"]}
        self.assertEqual({name for name in names if name.startswith("bn")},
                         {f"bn{i}.{what}" for i in (1, 2) for what in ("running_mean", "running_var", "num_batches_tracked")})
        self.assertEqual(facts.lines["batch"], ["4 sequence 0"])

    def test_frozen_parameters_are_buffers(self):
        model = Transformer()
        model.layers[0].up.weight.requires_grad_(False)
        facts = Facts(capture_graph.capture(model, tokens(), loss_of))
        self.assertNotIn("layers.0.up.weight", {line.split(" ")[0] for line in facts.lines["parameter"]})
        self.assertIn("layers.0.up.weight", {line.split(" ")[0] for line in facts.lines["buffer"]})
        self.assertEqual(facts.lines["flaw"], [])

    def test_a_model_without_a_loss_is_refused(self):
        with self.assertRaises(SystemExit):
            capture_graph.capture(ConvNet(), (torch.zeros(4, 3, 16, 16),))

    def test_command_line(self):
        script = os.path.join(ROOT, "traces", "capture", "capture_graph.py")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out.graph.json.gz")
            done = subprocess.run([sys.executable, script, "--module", "capture_test:make_transformer", "-o", path],
                                  cwd=os.path.dirname(os.path.abspath(__file__)), capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            checked = subprocess.run([CHECK, path], capture_output=True, text=True)
            self.assertEqual(checked.returncode, 0, checked.stdout)

    def test_captures_are_reproducible(self):
        torch.manual_seed(0)
        first = capture_graph.capture(Transformer(), tokens(), loss_of)
        second = capture_graph.capture(Transformer(), tokens(), loss_of)
        for graph in first["graphs"] + second["graphs"]:
            for node in graph["nodes"]:
                node["seq_nr"] = None  # counts on through a process
        self.assertEqual(first, second)


if __name__ == "__main__":
    CHECK = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
