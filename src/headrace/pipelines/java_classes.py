"""Java classes of ours in Spark's JVM, without a jar.

The compiler that Spark compiles its own queries with (Janino is in every PySpark) compiles them. A
class can be given to the loader of Spark's own classes only as the neighbour of one of them, so it
is in the package of its neighbour. Nothing here knows what the classes are for.
"""

from __future__ import annotations

from typing import Any


def is_loadable(jvm: Any, name: str) -> bool:
    """Whether the JVM has the class."""
    return bool(jvm.org.apache.spark.util.Utils.classIsLoadable(name))


def compile_java(jvm: Any, source: str, neighbour: str) -> dict[str, bytes]:
    """The code of the classes in a source file, by their names."""
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Class.forName(neighbour).getClassLoader())
    compiler.cook(source)
    return {str(name): bytes(code) for name, code in compiler.getBytecodes().items()}


def give_to_driver(jvm: Any, compiled: dict[str, bytes], neighbour: str) -> None:
    """Let the JVM of this process know the classes; once, as a class cannot be taken back."""
    handles = jvm.java.lang.invoke.MethodHandles
    lookup = handles.privateLookupIn(jvm.java.lang.Class.forName(neighbour), handles.lookup())
    for code in compiled.values():
        lookup.defineClass(code)
