"""What an ONNX file that a stranger wrote must be like. Only a process under limits may read one."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cfad_core.core.errors import CfadError, InvalidArtifactError
from cfad_core.runs.onnx_use import NUMBERS, TEXT, ModelForm, Port

if TYPE_CHECKING:
    import onnx

MOST_BYTES = 200_000_000
_DEEPEST = 8  # subgraphs in subgraphs
_WIDEST = 100_000  # columns of an input or output
_LARGEST = 100_000_000  # numbers of a tensor that is declared sparse
_LONGEST_NAME = 200
_DOMAINS = ("", "ai.onnx", "ai.onnx.ml", "com.microsoft")
_RANDOM = {
    "Bernoulli",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
}
_EXPORT = "Export the model to ONNX anew, and upload that file."
_FOREIGN = {  # how files begin that people take for a model
    b"\x80": "a pickled Python object, which is never opened here: it could run any program",
    b"PK": "a zip archive (a saved torch model is one)",
    b"\x89HDF": "an HDF5 file (a saved Keras model is one)",
    b"<": "a web page or another text",
    b"{": "a JSON text",
}


def read_model(content: bytes) -> ModelForm:
    """The form of the model in a file, if nothing speaks against running it.

    Raises
    ------
    InvalidArtifactError
    """
    try:
        return describe_model(parse_model(content))
    except (CfadError, MemoryError):
        raise
    except Exception as error:  # texts that are none, numbers where texts should be
        raise InvalidArtifactError(f"The file is an ONNX model that is damaged. {_EXPORT}") from error


def parse_model(content: bytes) -> onnx.ModelProto:
    """The model in a file, if nothing speaks against running it.

    Raises
    ------
    InvalidArtifactError
    """
    import onnx

    if not content:
        raise InvalidArtifactError(f"The file is empty. {_EXPORT}")
    if len(content) > MOST_BYTES:
        raise InvalidArtifactError(f"The file is larger than {MOST_BYTES / 1e6:g} MB. Export a smaller model.")
    for start, kind in _FOREIGN.items():
        if content.lstrip().startswith(start):
            raise InvalidArtifactError(f"The file is no ONNX model but {kind}. {_EXPORT}")
    try:
        model: onnx.ModelProto = onnx.ModelProto.FromString(content)
    except Exception as error:  # of the protobuf library, whichever it is
        raise InvalidArtifactError(
            f"The file is no ONNX model, or one that is damaged, cut off or nested too deeply. {_EXPORT}"
        ) from error
    if model.ir_version < 1 or not model.HasField("graph"):
        raise InvalidArtifactError(f"The file is no ONNX model, or has no graph. {_EXPORT}")
    _check_versions(model)
    _check_graphs(model)
    return model


def describe_model(model: onnx.ModelProto) -> ModelForm:
    """Its inputs and outputs, if a table can be scored with them.

    Raises
    ------
    InvalidArtifactError
    """
    graph = model.graph
    stored = {tensor.name for tensor in graph.initializer} | {sparse.values.name for sparse in graph.sparse_initializer}
    given = [value for value in graph.input if value.name not in stored]  # old files list stored numbers, too
    if not given or not graph.output:
        lacking = "outputs" if given else "inputs"
        raise InvalidArtifactError(f"The model has no {lacking}; a table cannot be scored with it. {_EXPORT}")
    counts = [_batch(value) for value in given]
    fixed = [count for count in counts if count is not None]
    if any(count != 1 for count in fixed) or (fixed and len(fixed) < len(counts)):
        raise InvalidArtifactError(
            f"The model takes exactly {max(fixed)} rows at a time; a table has any number. Export it with a first axis "
            "of any length (torch: dynamic_shapes, scikit-learn: FloatTensorType([None, columns]))."
        )
    inputs, outputs = tuple(_input(value) for value in given), tuple(_output(value) for value in graph.output)
    if not any(port.element in NUMBERS for port in outputs):
        raise InvalidArtifactError("No output of the model is a number, and a score is one. Export the scores, too.")
    opset = max((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), default=1)
    return ModelForm(inputs, outputs, opset, clean(model.producer_name, 50), bool(fixed))


def clean(text: str, most: int = 200) -> str:
    """A text of a stranger on one line, and not a long one."""
    return "".join(character if character.isprintable() else " " for character in text[: 4 * most]).strip()[:most]


def _check_versions(model: onnx.ModelProto) -> None:
    import onnx

    if model.ir_version > onnx.IR_VERSION:
        raise InvalidArtifactError(
            f"The file's format has version {model.ir_version}; up to {onnx.IR_VERSION} can be read. Export it with an "
            "older one."
        )
    newest = {"": onnx.defs.onnx_opset_version(), "ai.onnx.ml": onnx.defs.onnx_ml_opset_version(), "com.microsoft": 1}
    functions = {function.domain for function in model.functions}
    for entry in model.opset_import:
        domain = "" if entry.domain == "ai.onnx" else entry.domain
        if domain in newest and not 1 <= entry.version <= newest[domain]:
            raise InvalidArtifactError(
                f"The model uses version {entry.version} of the operators '{domain or 'ai.onnx'}'; versions 1 to "
                f"{newest[domain]} are known. Export it with an opset among these."
            )
        if domain not in newest and domain not in functions and not _is_unused(domain, model):
            raise _unknown_operator("of your own", domain)
    if model.training_info:
        raise InvalidArtifactError("The file also says how to train the model. Export it for inference alone.")


def _is_unused(domain: str, model: onnx.ModelProto) -> bool:
    """Some exporters name operators that they then do not use."""
    return all(node.domain != domain for node, _ in _nodes(model))


def _check_graphs(model: onnx.ModelProto) -> None:
    """Every node and every stored number, wherever in the file."""
    functions = {(function.domain, function.name) for function in model.functions}
    for node, depth in _nodes(model):
        if depth > _DEEPEST:
            raise InvalidArtifactError(
                f"The model has graphs in graphs, more than {_DEEPEST} deep. Export a simpler one."
            )
        _check_operator(node, functions)
        for attribute in node.attribute:
            _check_attribute(attribute)
    for function in model.functions:
        for attribute in function.attribute_proto:
            _check_attribute(attribute)
    _check_stored(model.graph)


def _nodes(model: onnx.ModelProto) -> Iterator[tuple[onnx.NodeProto, int]]:
    """All nodes, and how many graphs deep each of them is."""
    waiting = [(node, 0) for node in model.graph.node]
    for function in model.functions:
        waiting += [(node, 0) for node in function.node]
        waiting += [(node, 1) for entry in function.attribute_proto for node in _inner(entry)]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        if depth <= _DEEPEST:
            waiting += [(inner, depth + 1) for attribute in node.attribute for inner in _inner(attribute)]


def _inner(attribute: onnx.AttributeProto) -> list[onnx.NodeProto]:
    return [node for graph in _graphs(attribute) for node in graph.node]


def _graphs(attribute: onnx.AttributeProto) -> list[onnx.GraphProto]:
    return [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]


def _check_operator(node: onnx.NodeProto, functions: set[tuple[str, str]]) -> None:
    import onnx

    if (node.domain, node.op_type) in functions:
        return
    domain = "" if node.domain == "ai.onnx" else node.domain
    if domain not in _DOMAINS or (domain != "com.microsoft" and not onnx.defs.has(node.op_type, domain)):
        raise _unknown_operator(f"'{clean(node.op_type, 60)}'", domain)
    if domain == "" and node.op_type in _RANDOM:
        raise InvalidArtifactError(
            f"The model draws random numbers ('{node.op_type}'): a row would get another score each time. Export it "
            "for inference."
        )


def _unknown_operator(name: str, domain: str) -> InvalidArtifactError:
    return InvalidArtifactError(
        f"The model uses an operator {name} of '{clean(domain, 60) or 'ai.onnx'}', which is not known here. Known are "
        "those of 'ai.onnx' and 'ai.onnx.ml', and onnxruntime's own. Export it with these alone."
    )


def _check_attribute(attribute: onnx.AttributeProto) -> None:
    for tensor in [attribute.t, *attribute.tensors] if attribute.HasField("t") else attribute.tensors:
        _check_tensor(tensor)
    has_sparse = attribute.HasField("sparse_tensor")
    for sparse in [attribute.sparse_tensor, *attribute.sparse_tensors] if has_sparse else attribute.sparse_tensors:
        _check_sparse(sparse)
    for graph in _graphs(attribute):
        _check_stored(graph)


def _check_stored(graph: onnx.GraphProto) -> None:
    for tensor in graph.initializer:
        _check_tensor(tensor)
    for sparse in graph.sparse_initializer:
        _check_sparse(sparse)


def _check_tensor(tensor: onnx.TensorProto) -> None:
    import onnx

    name = clean(tensor.name, 60)
    if tensor.data_location == onnx.TensorProto.EXTERNAL or tensor.external_data:
        raise InvalidArtifactError(
            f"The numbers '{name}' are in another file than the model. Export it as one file (torch: "
            "external_data=False; onnx: save_model(..., save_as_external_data=False))."
        )
    # the narrowest numbers need half a byte each
    if any(size < 0 for size in tensor.dims) or math.prod(tensor.dims) > 2 * tensor.ByteSize():
        raise InvalidArtifactError(f"The numbers '{name}' are fewer than the file says. It is damaged. {_EXPORT}")


def _check_sparse(sparse: onnx.SparseTensorProto) -> None:
    _check_tensor(sparse.values)
    _check_tensor(sparse.indices)
    if any(size < 0 for size in sparse.dims) or math.prod(sparse.dims) > _LARGEST:
        raise InvalidArtifactError(
            f"The sparse numbers '{clean(sparse.values.name, 60)}' would be more than {_LARGEST:,}. Export a smaller "
            "model."
        )


def _input(value: onnx.ValueInfoProto) -> Port:
    port = _port(value, "input")
    if port.element not in (*NUMBERS, TEXT):
        raise InvalidArtifactError(
            f"The model's input '{port.name}' has the type {port.element}; a table can feed "
            f"{', '.join(NUMBERS)} and {TEXT}. {_EXPORT}"
        )
    if port.rank not in (1, 2):
        raise InvalidArtifactError(
            f"The model's input '{port.name}' has {port.rank} axes; a table has two, rows and columns. {_EXPORT}"
        )
    return port


def _output(value: onnx.ValueInfoProto) -> Port:
    return _port(value, "output")


def _port(value: onnx.ValueInfoProto, kind: str) -> Port:
    import onnx

    name, which = value.name, value.type.WhichOneof("value")
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise InvalidArtifactError(f"An {kind} of the model has no name, or no readable one. {_EXPORT}")
    if which != "tensor_type":
        remedy = "Export a classifier with options={'zipmap': False}." if kind == "output" else _EXPORT
        form = re.sub(r"_type$", "", str(which or "unknown"))
        raise InvalidArtifactError(
            f"The model's {kind} '{name}' is no tensor (a table of numbers) but a {form}. {remedy}"
        )
    names: dict[int, str] = {number: key.lower() for key, number in onnx.TensorProto.DataType.items()}
    tensor = value.type.tensor_type
    sizes = list(tensor.shape.dim) if tensor.HasField("shape") else None
    if any(size.dim_value > _WIDEST for size in sizes or []):
        raise InvalidArtifactError(f"The model's {kind} '{name}' is wider than {_WIDEST:,}. {_EXPORT}")
    element = names.get(tensor.elem_type, "undefined")
    if sizes is None or (kind == "output" and len(sizes) not in (1, 2)):
        return Port(name, element, None)
    if len(sizes) == 2:
        return Port(name, element, sizes[1].dim_value if sizes[1].dim_value > 0 else None)
    return Port(name, element, 1, len(sizes))


def _batch(value: Any) -> int | None:
    """How many rows an input takes; None: any number."""
    sizes = value.type.tensor_type.shape.dim
    return int(sizes[0].dim_value) if sizes and sizes[0].dim_value > 0 else None
