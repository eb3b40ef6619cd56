"""How numba compiles a function that only other compiled functions call, in a fraction of the time.

numba makes every function ready to be called from Python: it optimizes it together with all that it calls, translates
it to machine code, and writes two wrappers.  A kernel consists of some hundred functions that are inlined into one
another; only what comes out in the end needs all that.  Here a function ends as the code that is inlined.
"""

from typing import Any

from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

_register: Any = register_pass


@_register(mutates_CFG=True, analysis_only=False)
class PartLowering(NativeLowering):
    """numba's last step, from its own code to that of LLVM, without what follows in LLVM."""

    _name = "tutelage_part_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower a function; ``state.cr`` is the result."""
        context = state.targetctx
        library = state.library = context.codegen().create_library(state.func_id.func_qualname)
        library._optimize_final_module = _do_nothing  # noqa: SLF001 - numba has no public name for it
        library._finalize_final_module = lambda: setattr(library, "_finalized", True)  # noqa: SLF001
        state.flags.no_compile = True
        lower: Any = super().run_pass
        lower(state)
        entry_point = object()  # under which other functions find it
        state.cr = state.cr._replace(cfunc=entry_point)
        library.finalize()
        context.insert_user_function(entry_point, state.cr.fndesc, [library])
        return True


class PartCompiler(CompilerBase):
    """numba's compiler with that last step."""

    def define_pipelines(self) -> list[Any]:
        """Return the steps."""
        builder: Any = DefaultPassBuilder
        manager = builder.define_nopython_pipeline(self.state)
        manager.passes = [
            (PartLowering if step is NativeLowering else step, description) for step, description in manager.passes
        ]
        manager.finalize()
        return [manager]


def add_part(dispatcher: Any, result: Any) -> None:
    """Store what was compiled in the dispatcher, which Python cannot call."""
    dispatcher.overloads[tuple(result.signature.args)] = result


def _do_nothing() -> None:
    """Stand in for a step that is left out."""
