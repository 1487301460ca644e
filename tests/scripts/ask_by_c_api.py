"""Asks a SavedModel by the C API of TensorFlow, which is what servers in other languages use; imports no TensorFlow.

    python tests/scripts/ask_by_c_api.py FOLDER INPUT '[[0.1, 0.2, 0.3]]' OUTPUT...

INPUT and OUTPUT are tensors of the graph, such as serving_default_features:0. Prints the outputs as JSON lists.
"""

import ctypes
import importlib.util
import json
import pathlib
import struct
import sys

FLOAT, INT32, INT64 = 1, 3, 9  # TF_DataType
FORMATS = {FLOAT: "f", INT32: "i", INT64: "q"}


class Output(ctypes.Structure):
    """TF_Output: an operation and the number of its output."""

    _fields_ = (("operation", ctypes.c_void_p), ("index", ctypes.c_int))


def library():
    """Returns TensorFlow's library from its wheel."""
    folder = pathlib.Path(importlib.util.find_spec("tensorflow").origin).parent
    found = ctypes.CDLL(str(folder / "libtensorflow_cc.so.2"), mode=ctypes.RTLD_GLOBAL)
    pointers = (
        *("TF_NewStatus", "TF_NewGraph", "TF_NewSessionOptions", "TF_LoadSessionFromSavedModel"),
        *("TF_GraphOperationByName", "TF_AllocateTensor", "TF_TensorData"),
    )
    for name in pointers:
        getattr(found, name).restype = ctypes.c_void_p
    found.TF_Message.restype = ctypes.c_char_p
    found.TF_Dim.restype = ctypes.c_int64
    found.TF_TensorByteSize.restype = ctypes.c_size_t
    return found


class Session:
    """A SavedModel, loaded by TF_LoadSessionFromSavedModel."""

    def __init__(self, folder):
        self.tf = library()
        self.status = ctypes.c_void_p(self.tf.TF_NewStatus())
        self.graph = ctypes.c_void_p(self.tf.TF_NewGraph())
        options, tags = ctypes.c_void_p(self.tf.TF_NewSessionOptions()), (ctypes.c_char_p * 1)(b"serve")
        load, path = self.tf.TF_LoadSessionFromSavedModel, folder.encode()
        self.session = ctypes.c_void_p(load(options, None, path, tags, 1, self.graph, None, self.status))
        self.check()

    def check(self):
        """Stops with what went wrong in the last call."""
        if self.tf.TF_GetCode(self.status):
            sys.exit(self.tf.TF_Message(self.status).decode())

    def output(self, name):
        """Returns a tensor of the graph by its name, operation:number."""
        operation, _, index = name.partition(":")
        found = self.tf.TF_GraphOperationByName(self.graph, operation.encode())
        if not found:
            sys.exit(f"no operation {operation}")
        return Output(found, int(index or 0))

    def tensor(self, rows):
        """Returns a float32 matrix as a TF_Tensor."""
        numbers = [float(value) for row in rows for value in row]
        data, dims = struct.pack(f"{len(numbers)}f", *numbers), (ctypes.c_int64 * 2)(len(rows), len(rows[0]))
        made = ctypes.c_void_p(self.tf.TF_AllocateTensor(FLOAT, dims, 2, ctypes.c_size_t(len(data))))
        ctypes.memmove(self.tf.TF_TensorData(made), data, len(data))
        return made

    def run(self, name, rows, outputs):
        """Returns the values of outputs as flat lists."""
        fed, wanted = (Output * 1)(self.output(name)), (Output * len(outputs))(*map(self.output, outputs))
        values, answers = (ctypes.c_void_p * 1)(self.tensor(rows)), (ctypes.c_void_p * len(outputs))()
        counts = (ctypes.c_int(1), wanted, answers, ctypes.c_int(len(outputs)), None, 0, None, self.status)
        self.tf.TF_SessionRun(self.session, None, fed, values, *counts)
        self.check()
        return [self.values(ctypes.c_void_p(each)) for each in answers]

    def values(self, tensor):
        """Returns a tensor's numbers."""
        form = FORMATS[self.tf.TF_TensorType(tensor)]
        data = ctypes.string_at(self.tf.TF_TensorData(tensor), self.tf.TF_TensorByteSize(tensor))
        return list(struct.unpack(f"{len(data) // struct.calcsize(form)}{form}", data))


if __name__ == "__main__":
    folder, name, rows, *outputs = sys.argv[1:]
    print(json.dumps(Session(folder).run(name, json.loads(rows), outputs)))
