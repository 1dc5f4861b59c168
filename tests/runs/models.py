"""ONNX models for tests: good ones as people export them, and files that nobody should run."""

from __future__ import annotations

import io
import pickle
import warnings
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

FLOAT = TensorProto.FLOAT
WIDTH = 4


def info(name: str, shape: Sequence[int | str | None] | None = (None, WIDTH), kind: int = FLOAT) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def build(
    nodes: Sequence[Any],
    inputs: Sequence[Any] | None = None,
    outputs: Sequence[Any] | None = None,
    stored: Sequence[Any] = (),
    **others: Any,
) -> onnx.ModelProto:
    """A model from 'x' (n, 4) to 'score' (n, 1), unless said otherwise."""
    inputs = [info("x")] if inputs is None else inputs
    outputs = [info("score", (None, 1))] if outputs is None else outputs
    graph = helper.make_graph(nodes, "graph", inputs, outputs, stored)
    opsets = others.pop("opsets", [("", 17)])
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets]
    return helper.make_model(graph, opset_imports=imports, ir_version=8, **others)


def node(kind: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: Any) -> Any:
    return helper.make_node(kind, inputs, outputs, **attributes)


def numbers(name: str, values: Any, kind: int = FLOAT) -> Any:
    array = np.asarray(values)
    return helper.make_tensor(name, kind, array.shape, array.ravel().tolist())


SUM = node("ReduceSum", ["x", "axes"], ["score"], keepdims=1)
AXES = numbers("axes", [1], TensorProto.INT64)


def row_sum() -> onnx.ModelProto:
    """The score is the sum of a row."""
    return build([SUM], stored=[AXES])


def reconstruction(weights: Any) -> onnx.ModelProto:
    """An autoencoder whose score is the mean squared error of a row: weights (4, k), tied."""
    encoder = np.asarray(weights, dtype=np.float32)
    nodes = [
        node("MatMul", ["x", "encoder"], ["linear"]),
        node("Tanh", ["linear"], ["code"]),
        node("MatMul", ["code", "decoder"], ["again"]),
        node("Sub", ["x", "again"], ["difference"]),
        node("Mul", ["difference", "difference"], ["squares"]),
        node("ReduceMean", ["squares"], ["score"], axes=[1], keepdims=0),
    ]
    stored = [numbers("encoder", encoder), numbers("decoder", encoder.T)]
    return build(nodes, outputs=[info("score", (None,))], stored=stored)


def one_input_a_column() -> onnx.ModelProto:
    """Inputs of all types, the score their sum (of texts: whether they are 'b')."""
    kinds = {"f": FLOAT, "d": TensorProto.DOUBLE, "i": TensorProto.INT64, "j": TensorProto.INT32, "k": TensorProto.BOOL}
    nodes = [node("Cast", [name], [f"{name}_cast"], to=TensorProto.DOUBLE) for name in kinds]
    nodes += [
        node("LabelEncoder", ["t"], ["code"], domain="ai.onnx.ml", keys_strings=["a", "b"], values_floats=[0.0, 1.0]),
        node("Cast", ["code"], ["t_cast"], to=TensorProto.DOUBLE),
        node("Sum", [*(f"{name}_cast" for name in kinds), "t_cast"], ["score"]),
    ]
    inputs = [info(name, (None, 1), kind) for name, kind in kinds.items()]
    inputs.append(info("t", (None, 1), TensorProto.STRING))
    outputs = [info("score", (None, 1), TensorProto.DOUBLE)]
    return build(nodes, inputs, outputs, opsets=[("", 17), ("ai.onnx.ml", 3)])


def row_by_row() -> onnx.ModelProto:
    """It takes one row at a time."""
    return build([SUM], [info("x", (1, WIDTH))], [info("score", (1, 1))], [AXES])


def from_sklearn(estimator: Any, types: Sequence[tuple[str, Any]]) -> bytes:
    from skl2onnx import to_onnx

    options = {id(estimator): {"zipmap": False}} if hasattr(estimator, "predict_proba") else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = to_onnx(estimator, initial_types=types, options=options, target_opset={"": 17, "ai.onnx.ml": 3})
    return bytes(found.SerializeToString())


def from_lightgbm(estimator: Any) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnxmltools.convert import convert_lightgbm
        from onnxmltools.convert.common.data_types import FloatTensorType

        types = [("x", FloatTensorType([None, WIDTH]))]
        found = convert_lightgbm(estimator, initial_types=types, zipmap=False, target_opset=15)
    return bytes(found.SerializeToString())


def from_torch(module: Any, example: Any) -> bytes:
    import torch

    stream: Any = io.BytesIO()
    axes = {"x": {0: "n"}, "score": {0: "n"}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module, (example,), stream, input_names=["x"], output_names=["score"], dynamic_axes=axes, dynamo=False
        )
    return bytes(stream.getvalue())


# Files that nobody should run


def outside(location: str) -> Any:
    """Numbers that are said to be in another file."""
    tensor = TensorProto(name="w", data_type=FLOAT, dims=[WIDTH, 1], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    return tensor


def with_outside(location: str) -> onnx.ModelProto:
    return build([node("MatMul", ["x", "w"], ["score"])], stored=[outside(location)])


def branch(nodes: Sequence[Any], stored: Sequence[Any] = ()) -> Any:
    return helper.make_graph(nodes, "branch", [], [info("inner", (None, 1))], stored)


def with_outside_in_subgraph() -> onnx.ModelProto:
    multiply = branch([node("MatMul", ["x", "w"], ["inner"])], [outside("weights.bin")])
    choose = node("If", ["yes"], ["score"], then_branch=multiply, else_branch=multiply)
    return build([choose], stored=[numbers("yes", True, TensorProto.BOOL)])


def with_outside_in_attribute() -> onnx.ModelProto:
    return build([node("Constant", [], ["w"], value=outside("weights.bin")), node("MatMul", ["x", "w"], ["score"])])


def with_outside_in_function() -> onnx.ModelProto:
    nodes = [node("Constant", [], ["w"], value=outside("weights.bin")), node("MatMul", ["x", "w"], ["y"])]
    function = helper.make_function("mine", "multiply", ["x"], ["y"], nodes, [helper.make_opsetid("", 17)])
    use = node("multiply", ["x"], ["score"], domain="mine")
    return build([use], functions=[function], opsets=[("", 17), ("mine", 1)])


def with_function_of_itself() -> onnx.ModelProto:
    again = node("again", ["x"], ["y"], domain="mine")
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    function = helper.make_function("mine", "again", ["x"], ["y"], [again], imports)
    use = node("again", ["x"], ["score"], domain="mine")
    return build([use], functions=[function], opsets=[("", 17), ("mine", 1)])


def with_functions_of_functions(levels: int = 12, calls: int = 10) -> onnx.ModelProto:
    """A small file that says a number of operations with a dozen zeros."""
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    functions = []
    for level in range(levels):
        kind, domain = ("Neg", "") if level == 0 else (f"level{level - 1}", "mine")
        names = ["x", *(f"x{call}" for call in range(calls - 1)), "y"]
        nodes = [node(kind, [names[call]], [names[call + 1]], domain=domain) for call in range(calls)]
        functions.append(helper.make_function("mine", f"level{level}", ["x"], ["y"], nodes, imports))
    use = node(f"level{levels - 1}", ["x"], ["score"], domain="mine")
    return build([use], outputs=[info("score")], functions=functions, opsets=[("", 17), ("mine", 1)])


def doubling(times: int = 60) -> onnx.ModelProto:
    """Twice as many numbers at each of its steps."""
    names = ["x", *(f"x{step}" for step in range(times))]
    nodes = [node("Concat", [names[step]] * 2, [names[step + 1]], axis=1) for step in range(times)]
    last = node("ReduceSum", [names[-1], "axes"], ["score"], keepdims=1)
    return build([*nodes, last], stored=[AXES])


def sparse(values: Any, dims: Sequence[int]) -> onnx.ModelProto:
    model = build([node("MatMul", ["x", "w"], ["score"])])
    found = model.graph.sparse_initializer.add(dims=dims)
    found.values.CopyFrom(values)
    found.indices.CopyFrom(numbers("at", [0], TensorProto.INT64))
    return model


def with_outside_sparse() -> onnx.ModelProto:
    values = outside("weights.bin")
    del values.dims[:]
    values.dims.append(1)
    return sparse(values, [WIDTH, 1])


def with_huge_stored() -> onnx.ModelProto:
    stored = TensorProto(name="w", data_type=FLOAT, dims=[2**31, 2**31])
    return build([node("MatMul", ["x", "w"], ["score"])], stored=[stored])


def with_negative_size() -> onnx.ModelProto:
    stored = TensorProto(name="w", data_type=FLOAT, dims=[-4, -1], raw_data=b"\0" * 16)
    return build([node("MatMul", ["x", "w"], ["score"])], stored=[stored])


def _added(nodes: Sequence[Any], stored: Sequence[Any]) -> onnx.ModelProto:
    """The score, plus the sum of something that is far too large."""
    plain = node("ReduceSum", ["x", "axes"], ["plain"], keepdims=1)
    total = [node("ReduceSum", ["large"], ["total"], keepdims=0), node("Add", ["plain", "total"], ["score"])]
    return build([plain, *nodes, *total], stored=[AXES, *stored])


def with_terabytes(kind: str) -> onnx.ModelProto:
    shape = numbers("shape", [2**20, 2**20], TensorProto.INT64)
    inputs = {"ConstantOfShape": ["shape"], "Expand": ["one", "shape"], "Tile": ["table", "shape"]}[kind]
    return _added([node(kind, inputs, ["large"])], [shape, numbers("one", [1.0]), numbers("table", [[1.0]])])


def with_impossible_size() -> onnx.ModelProto:
    shape = numbers("shape", [2**62, 2**62], TensorProto.INT64)
    return _added([node("ConstantOfShape", ["shape"], ["large"])], [shape])


def endless() -> onnx.ModelProto:
    """A loop of 2^62 rounds."""
    body = helper.make_graph(
        [node("Identity", ["go"], ["go_on"]), node("Add", ["state", "one"], ["next"])],
        "body",
        [info("round", (), TensorProto.INT64), info("go", (), TensorProto.BOOL), info("state", (None, 1))],
        [info("go_on", (), TensorProto.BOOL), info("next", (None, 1))],
    )
    stored = [numbers("most", 2**62, TensorProto.INT64), numbers("yes", True, TensorProto.BOOL), numbers("one", [1.0])]
    start = node("ReduceSum", ["x", "axes"], ["start"], keepdims=1)
    return build([start, node("Loop", ["most", "yes", "start"], ["score"], body=body)], stored=[AXES, *stored])


def nested(depth: int) -> onnx.ModelProto:
    """Branches in branches."""
    inner = other = branch([node("ReduceSum", ["x", "axes"], ["inner"], keepdims=1)])
    for _ in range(depth):
        inner = branch([node("If", ["yes"], ["inner"], then_branch=inner, else_branch=other)])
    choose = node("If", ["yes"], ["score"], then_branch=inner, else_branch=other)
    return build([choose], stored=[AXES, numbers("yes", True, TensorProto.BOOL)])


def nested_bytes(depth: int) -> bytes:
    """Graphs in attributes in nodes in graphs, written by hand: no library writes so many."""

    def field(tag: int, content: bytes) -> bytes:
        size, length = len(content), b""
        while True:
            length += bytes([size & 0x7F | (0x80 if size > 0x7F else 0)])
            size >>= 7
            if not size:
                return bytes([tag << 3 | 2]) + length + content

    graph = b""
    for _ in range(depth):
        graph = field(1, field(5, field(6, graph)))  # GraphProto.node.attribute.g
    return b"\x08\x08" + field(7, graph)


def cyclic() -> onnx.ModelProto:
    return build([node("Add", ["x", "b"], ["a"]), node("Add", ["a", "x"], ["b"]), node("Identity", ["a"], ["score"])])


def with_sequence() -> onnx.ModelProto:
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, None))
    output = helper.make_value_info("score", kind)
    return build([node("SequenceConstruct", ["x"], ["score"])], outputs=[output])


def with_sequence_input() -> onnx.ModelProto:
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, [None, 1]))
    given = helper.make_value_info("x", kind)
    return build([node("ConcatFromSequence", ["x"], ["score"], axis=1)], [given])


def with_zipmap() -> onnx.ModelProto:
    inner = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(FLOAT, []))
    output = helper.make_value_info("score", helper.make_sequence_type_proto(inner))
    mapped = node("ZipMap", ["x"], ["score"], domain="ai.onnx.ml", classlabels_int64s=[0, 1, 2, 3])
    return build([mapped], outputs=[output], opsets=[("", 17), ("ai.onnx.ml", 3)])


def with_other(change: Callable[[onnx.ModelProto], None]) -> onnx.ModelProto:
    model = row_sum()
    change(model)
    return model


def set_version(version: int) -> Callable[[onnx.ModelProto], None]:
    def change(model: onnx.ModelProto) -> None:
        model.ir_version = version

    return change


def set_opset(version: int) -> Callable[[onnx.ModelProto], None]:
    def change(model: onnx.ModelProto) -> None:
        model.opset_import[0].version = version

    return change


class Trap:
    """Unpickled, it would end the process."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (exec, ("import os; os._exit(3)",))


def zipped() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("data.pkl", pickle.dumps(Trap()))
    return stream.getvalue()


def whole(model: onnx.ModelProto) -> bytes:
    return bytes(model.SerializeToString())


TEXT_OUT = [info("score", (None, WIDTH), TensorProto.STRING)]

# By name: the file, and the sentence with which it is refused before it is run
REFUSED: dict[str, tuple[Callable[[], bytes | onnx.ModelProto], str]] = {
    "empty": (lambda: b"", "The file is empty."),
    "random bytes": (lambda: np.random.default_rng(0).bytes(5000), "The file is no ONNX model"),
    "cut off": (lambda: whole(row_sum())[:-20], "damaged, cut off or nested too deeply"),
    "cut to the header": (lambda: whole(row_sum())[:2], "The file is no ONNX model, or has no graph."),
    "a name that is no text": (
        lambda: whole(row_sum()).replace(b"ReduceSum", b"Reduce\xff\xffm"),
        "The file is an ONNX model that is damaged.",
    ),
    "pickle": (lambda: pickle.dumps(Trap(), protocol=4), "a pickled Python object, which is never opened here"),
    "old pickle": (lambda: pickle.dumps(Trap(), protocol=0), "The file is no ONNX model"),
    "zip": (zipped, "but a zip archive (a saved torch model is one)"),
    "HTML": (lambda: b"\n<!DOCTYPE html><html></html>", "but a web page"),
    "JSON": (lambda: b'{"trees": []}', "but a JSON text"),
    "many zeros": (lambda: b"\0" * 10_000_000, "The file is no ONNX model"),
    "too large": (lambda: b"\x08" * 200_000_001, "The file is larger than 200 MB."),
    "external data": (lambda: with_outside("weights.bin"), "'w' are in another file than the model"),
    "external data, absolute": (lambda: with_outside("/etc/passwd"), "'w' are in another file than the model"),
    "external data, upwards": (lambda: with_outside("../../../etc/passwd"), "are in another file than the model"),
    "external data in a subgraph": (with_outside_in_subgraph, "'w' are in another file than the model"),
    "external data in an attribute": (with_outside_in_attribute, "'w' are in another file than the model"),
    "external data in a function": (with_outside_in_function, "'w' are in another file than the model"),
    "external data, sparse": (with_outside_sparse, "'w' are in another file than the model"),
    "huge stored tensor": (with_huge_stored, "The numbers 'w' are fewer than the file says."),
    "negative size": (with_negative_size, "The numbers 'w' are fewer than the file says."),
    "huge sparse tensor": (
        lambda: sparse(numbers("w", [1.0]), [2**40, 2**20]),
        "The sparse numbers 'w' would be more than 100,000,000.",
    ),
    "nested branches": (lambda: nested(9), "graphs in graphs, more than 8 deep"),
    "1,200 nested graphs": (lambda: nested_bytes(1200), "nested too deeply"),
    "100,000 nested graphs": (lambda: b"\x08\x08" + b"\x3a\x80\x80\x01" * 100_000, "nested too deeply"),
    "unknown operator": (lambda: build([node("Frobnicate", ["x"], ["score"])]), "'Frobnicate' of 'ai.onnx'"),
    "unknown domain": (
        lambda: build([node("Run", ["x"], ["score"], domain="evil.com")], opsets=[("", 17), ("evil.com", 1)]),
        "of 'evil.com', which is not known here",
    ),
    "domain without an import": (
        lambda: build([node("Run", ["x"], ["score"], domain="evil.com")]),
        "'Run' of 'evil.com', which is not known here",
    ),
    "random numbers": (
        lambda: build([node("RandomNormalLike", ["x"], ["score"])]),
        "The model draws random numbers ('RandomNormalLike')",
    ),
    "opset 9999": (lambda: with_other(set_opset(9999)), "The model uses version 9999 of the operators 'ai.onnx'"),
    "opset -1": (lambda: with_other(set_opset(-1)), "The model uses version -1 of the operators 'ai.onnx'"),
    "format of the future": (lambda: with_other(set_version(10**12)), "The file's format has version 1000000000000"),
    "no inputs": (lambda: build([], [], stored=[numbers("score", [[1.0]])]), "The model has no inputs"),
    "no outputs": (lambda: build([SUM], outputs=[], stored=[AXES]), "The model has no outputs"),
    "sequence": (with_sequence, "The model's output 'score' is no tensor (a table of numbers) but a sequence."),
    "sequence as input": (with_sequence_input, "The model's input 'x' is no tensor"),
    "ZipMap": (with_zipmap, "Export a classifier with options={'zipmap': False}."),
    "text as the only output": (
        lambda: build([node("Cast", ["x"], ["score"], to=TensorProto.STRING)], outputs=TEXT_OUT),
        "No output of the model is a number",
    ),
    "fixed batch": (
        lambda: build([SUM], [info("x", (32, WIDTH))], [info("score", (32, 1))], [AXES]),
        "The model takes exactly 32 rows at a time",
    ),
    "three axes": (lambda: build([SUM], [info("x", (None, 4, 4))], stored=[AXES]), "'x' has 3 axes; a table has two"),
    "huge width": (lambda: build([SUM], [info("x", (None, 2**40))], stored=[AXES]), "'x' is wider than 100,000"),
    "half precision": (
        lambda: build([SUM], [info("x", kind=TensorProto.FLOAT16)], stored=[AXES]),
        "The model's input 'x' has the type float16",
    ),
    "name of a megabyte": (
        lambda: build([node("Identity", ["x" * 2**20], ["score"])], [info("x" * 2**20)]),
        "An input of the model has no name, or no readable one.",
    ),
}

# By name: the file, and what is said when onnxruntime is to load it
NOT_LOADED: dict[str, tuple[Callable[[], onnx.ModelProto], str]] = {
    "custom operator": (
        lambda: build(
            [node("Mine", ["x"], ["score"], domain="com.microsoft")], opsets=[("", 17), ("com.microsoft", 1)]
        ),
        "The model cannot be run; onnxruntime says:",
    ),
    "cyclic graph": (cyclic, "The model cannot be run; onnxruntime says:"),
    "function that calls itself": (with_function_of_itself, "The model"),
    "functions of functions": (with_functions_of_functions, "The model"),
    "type mismatch": (
        lambda: build([node("Add", ["x", "axes"], ["score"])], stored=[AXES]),
        "The model cannot be run; onnxruntime says:",
    ),
    "input that nobody gives": (
        lambda: build([node("Add", ["x", "nowhere"], ["score"])]),
        "The model cannot be run; onnxruntime says:",
    ),
    "output that nobody makes": (
        lambda: build([node("Identity", ["x"], ["other"])]),
        "The model cannot be run; onnxruntime says:",
    ),
}

# By name: the file, and what is said when rows are to be scored with it
NOT_SCORED: dict[str, tuple[Callable[[], onnx.ModelProto], str]] = {
    "terabytes of one number": (lambda: with_terabytes("ConstantOfShape"), "needs more memory than the 1,024 MB"),
    "terabytes by expanding": (lambda: with_terabytes("Expand"), "needs more memory than the 1,024 MB"),
    "terabytes by tiling": (lambda: with_terabytes("Tile"), "needs more memory than the 1,024 MB"),
    "a size that overflows": (with_impossible_size, "The model"),
    "twice as many numbers at each step": (doubling, "The model "),
    "endless loop": (endless, "The model took longer than 3 seconds."),
    "too few scores": (
        lambda: build([node("ReduceSum", ["x"], ["score"], keepdims=1)], outputs=[info("score", None)]),
        "must have one score for each of the 7 rows; it has the shape [1, 1].",
    ),
    "three axes of scores": (
        lambda: build(
            [node("Unsqueeze", ["x", "axes"], ["score"])], outputs=[info("score", (None, 1, WIDTH))], stored=[AXES]
        ),
        "it has the shape [7, 1, 4].",
    ),
    "not a number": (
        lambda: build(
            [node("Sub", ["x", "x"], ["zero"]), node("Div", ["zero", "zero"], ["score"])], outputs=[info("score", None)]
        ),
        "7 of 7 are infinite or not a number.",
    ),
}
