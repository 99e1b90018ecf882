"""What Perfetto's tests import: stubs of its test framework, and of protobuf for the scripts that make traces.

A suite's classes are imported as they stand; all that they ask of `python.generators.diff_tests.testing` are names to put a trace,
a query and a table in. The scripts build messages and serialize them: here a message is written as text, for protoc to encode.
"""
import importlib.util
import io
import os
import re
import sys
import types

DIFF_TESTS = os.path.join('test', 'trace_processor', 'diff_tests', 'parser')


class Record:
    """Any class of the framework: keeps what it is made of."""

    def __init__(self, *values, **named):
        self.values, self.named = values, named


class Module(types.ModuleType):
    """A module that has a class for every name that is asked of it."""

    def __getattr__(self, name):
        if name.startswith('__'):
            raise AttributeError(name)
        setattr(self, name, type(name, (Record,), {}))
        return getattr(self, name)


def tests_of(perfetto, folder):
    """Pairs of a name and the record of a test, of all suites in a folder."""
    for name in ('python', 'python.generators', 'python.generators.diff_tests', 'python.generators.diff_tests.testing'):
        sys.modules[name] = Module(name)
    where = os.path.join(perfetto, DIFF_TESTS, folder)
    for file in sorted(os.listdir(where)):
        if not re.fullmatch(r'tests.*\.py', file):
            continue
        spec = importlib.util.spec_from_file_location('suite', os.path.join(where, file))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for suite in vars(module).values():
            if isinstance(suite, type) and any(base.__name__ == 'TestSuite' for base in suite.__bases__):
                for method in vars(suite):
                    if method.startswith('test_'):
                        yield method[len('test_'):], getattr(suite(), method)().named


class Symbol(str):
    """A value of an enumeration, by name."""

    def __getattr__(self, name):
        return Symbol(name)


class MessageType(type):
    """A type of messages, which has any enumeration."""

    def __getattr__(cls, name):
        return Symbol(name)


class Message(metaclass=MessageType):
    """A protobuf message of any type: its fields in the order of first use. What a field is shows in how it is used."""

    def __init__(self):
        object.__setattr__(self, 'fields', {})

    def __getattr__(self, name):
        return self.fields.setdefault(name, Field())

    def __setattr__(self, name, value):
        self.fields[name] = value

    def text(self):
        return ''.join(part for name, value in self.fields.items() for part in text_of(name, value))

    def SerializeToString(self):  # the name is protobuf's
        return self.text().encode()


class Field(Message):
    """A field that is read before it is set: a message, or a list of messages or values."""

    def __init__(self):
        super().__init__()
        object.__setattr__(self, 'elements', None)

    def append(self, value):
        object.__setattr__(self, 'elements', (self.elements or []) + [value])

    def extend(self, values):
        for value in values:
            self.append(value)

    def add(self):
        self.append(Message())
        return self.elements[-1]


def text_of(name, value):
    """The lines of a field in protobuf's text format."""
    if isinstance(value, Field) and value.elements is not None:
        for element in value.elements:
            yield from text_of(name, element)
    elif isinstance(value, Message):
        yield '%s {\n%s}\n' % (name, value.text())
    elif isinstance(value, (str, bytes)) and not isinstance(value, Symbol):
        data = value.encode() if isinstance(value, str) else value
        yield '%s: "%s"\n' % (name, ''.join('\\%03o' % byte for byte in data))
    else:
        yield '%s: %s\n' % (name, int(value) if isinstance(value, bool) else value)


class Anything:
    """Stands for descriptors and their pools, of which scripts only pass parts on."""

    def __getattr__(self, name):
        return self

    def __call__(self, *values, **named):
        return self

    def __iter__(self):
        return iter(())


def text_of_script(perfetto, path):
    """The trace, as text, that a script makes with test/synth_common.py."""
    protobuf = types.ModuleType('google.protobuf')
    protobuf.descriptor_pb2 = protobuf.descriptor_pool = Anything()
    protobuf.message_factory = types.SimpleNamespace(GetMessageClass=lambda descriptor: Message)
    sys.modules.update({'google': types.ModuleType('google'), 'google.protobuf': protobuf})
    state = sys.argv, sys.path, sys.stdout
    sys.argv, sys.path = [path, os.devnull], [os.path.join(perfetto, 'test')] + sys.path
    sys.stdout = types.SimpleNamespace(buffer=io.BytesIO())
    try:
        with open(path, encoding='utf-8') as file:
            exec(compile(file.read(), path, 'exec'), {'__name__': '__main__'})
        return sys.stdout.buffer.getvalue().decode()
    finally:
        sys.argv, sys.path, sys.stdout = state
