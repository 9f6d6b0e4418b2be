"""The module of a lesson's solutions: what of the lesson it takes along, and what it refuses."""

import pytest

from labkit.course import CourseError
from labkit.course.catalogue import Course
from labkit.course.config import config
from labkit.course.source import solutions
from labkit.course.source.solutions import sorted_imports

SOURCE = "chapters/01_gpu/source/tiny/lesson.py"
HEAD = '''\
"""The solutions of lesson 01_gpu/1_tiny. Written by `labkit build` from

chapters/01_gpu/source/tiny/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""
'''


@pytest.fixture
def module(bare_course):
    """The module for code cells, in place of the tiny lesson's own exercise."""

    def make(*cells):
        path = bare_course / SOURCE
        text = path.read_text().replace('check("tiny.add_one", add_one)', "add_one")
        path.write_text(text + "".join(f"\n# %%\n{cell.strip()}\n" for cell in cells))
        course = Course(config(bare_course))
        return solutions.module(course.lessons()[0], course.config)

    return make


def test_a_lesson_without_exercises_has_no_module(module):
    assert module("x = 1\n# check('gpu.f', f)") is None


def test_the_module_lies_in_the_folder_of_its_lesson(module, bare_course):
    made = module("def f(x):\n    return x\n\nf = check('tpu.f', f)")
    assert made.path == bare_course / "chapters/01_gpu/source/tiny/solutions.py"
    text = f'{HEAD}\n\ndef f(x):\n    return x\n\n\nSOLUTIONS = {{\n    "tpu.f": f,\n}}\n'
    assert made.data.decode() == text


def test_what_a_function_needs_is_taken_along_and_nothing_else(module):
    made = module(
        "import numpy as np\nimport math\nfrom labkit.gpu import cuda, profile",
        "TILE = 4\nOTHER = 5",
        """
@cuda.jit(device=True)
def fetch(x, i):
    return x[i] if i < TILE else np.float32(0)


@cuda.jit
def unused(x):
    x[0] = OTHER
""",
        """
@cuda.jit
def kernel(x, y):
    # STUB:
    # pass
    # BEGIN SOLUTION
    y[0] = fetch(x, 0)
    # END SOLUTION


kernel = check("gpu.kernel", kernel)
""",
    ).data.decode()
    assert made == (
        f"{HEAD}\nimport numpy as np\n\nfrom labkit.gpu import cuda\n\n\nTILE = 4\n\n\n"
        "@cuda.jit(device=True)\ndef fetch(x, i):\n"
        "    return x[i] if i < TILE else np.float32(0)\n\n\n"
        "@cuda.jit\ndef kernel(x, y):\n    y[0] = fetch(x, 0)\n\n\n"
        'SOLUTIONS = {\n    "gpu.kernel": kernel,\n}\n'
    )


def test_the_last_definition_above_the_check_counts(module):
    made = module(
        "RATE = 1\ndef f(x):\n    return RATE * x",
        "RATE = 2\ndef f(x):\n    return RATE + x\n\nf = check('gpu.f', f)",
        "RATE = 3\ndef f(x):\n    return x",
    ).data.decode()
    assert "RATE = 2" in made and "RATE + x" in made
    assert "RATE = 1" not in made and "RATE = 3" not in made and made.count("def f") == 1


def test_a_later_exercise_may_call_an_earlier_one(module):
    made = module(
        "def f(x):\n    return x\n\nf = check('gpu.f', f)",
        "def g(x):\n    return f(x)\n\ng = check('gpu.g', g)",
    ).data.decode()
    assert made.count("def f") == 1 and "check" not in made
    assert made.endswith('SOLUTIONS = {\n    "gpu.f": f,\n    "gpu.g": g,\n}\n')


def test_a_text_is_taken_along_as_it_stands(module):
    made = module(
        'mac = r"""\nmodule mac;\n  # STUB:\n  # // your lines\n  # BEGIN SOLUTION\n'
        '  assign y = x;\n  # END SOLUTION\nendmodule\n"""\n\nmac = check("fpga.mac", mac)'
    )
    text = 'mac = r"""\nmodule mac;\n  assign y = x;\nendmodule\n"""'
    assert made.data.decode() == f'{HEAD}\n\n{text}\n\n\nSOLUTIONS = {{\n    "fpga.mac": mac,\n}}\n'


def test_names_bound_together_are_written_once(module):
    made = module("M, N = 3, 4\ndef f(x):\n    return M * N * x\n\nf = check('gpu.f', f)")
    assert made.data.decode().count("M, N = 3, 4") == 1


def test_a_cell_with_a_magic_defines_nothing(module):
    with pytest.raises(CourseError, match=r"gpu\.f checks 'f', which no cell above defines"):
        module("# %matplotlib inline\ndef f(x):\n    return x", "f = check('gpu.f', f)")


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["f = check('gpu.f', f)"], "gpu.f checks 'f', which no cell above defines"),
        (
            ["f = check('gpu.f', f)", "def f(x):\n    return x"],
            "gpu.f checks 'f', which no cell above defines",
        ),
        (
            [
                "def f(x):\n    return x\nf = check('gpu.f', f)",
                "def f(x):\n    return 2 * x\nf = check('gpu.g', f)",
            ],
            "two exercises check a function 'f': rename one",
        ),
        (["f = check('gpu.f', lambda x: x)"], "cannot be read: it must name an id and a function"),
    ],
)
def test_what_no_module_can_be_made_of_is_refused(module, cells, words):
    with pytest.raises(CourseError) as caught:
        module(*cells)
    assert str(caught.value).startswith(f"{SOURCE}: ") and words in str(caught.value)


def test_variables_and_parameters_of_a_function_are_not_taken_along(module):
    made = module(
        "total = 5\nx = 6\nprint = print\nK = 7",
        """
def f(x):
    total = 0
    for k in range(len(x)):
        total += sum(y * K for y in x)
    return total


f = check("gpu.f", f)
""",
    ).data.decode()
    assert "K = 7" in made
    assert "total = 5" not in made and "x = 6" not in made and "print" not in made


def test_imports_are_merged_sorted_and_grouped():
    texts = [
        "from labkit.gpu import profile",
        "import numpy as np",
        "from math import sqrt",
        "import ast",
        "from labkit.gpu import cuda",
        "from math import pi",
        "from labkit import figures",
        "import numpy as np",
    ]
    assert sorted_imports(texts) == (
        "import ast\nfrom math import pi, sqrt\n\nimport numpy as np\n\n"
        "from labkit import figures\nfrom labkit.gpu import cuda, profile"
    )


def test_a_module_that_is_not_what_the_source_says_is_refused_and_written_anew(
    bare_course, no_kernel, capsys
):
    from labkit.course.build import build
    from labkit.course.source.draft import draft
    from labkit.course.verify import refusals_of

    path = bare_course / SOURCE
    path.write_text(path.read_text() + "\n# %%\nadd_one = check('gpu.add_one', add_one)\n")
    build(config(bare_course))
    name = "chapters/01_gpu/source/tiny/solutions.py"
    assert f"{name}: written" in capsys.readouterr().out
    (bare_course / name).write_text("SOLUTIONS = {}")
    course = Course(config(bare_course))
    sentence = f"{name} is not what the lesson's source says: run `labkit build 01_gpu/1_tiny`."
    assert sentence in refusals_of(draft(course.lessons()[0], course.config), course.config)


def test_pynq_is_not_imported_together_with_a_solution(module):
    made = module(
        "from pynq import allocate\ndef f(x):\n    return allocate(x)\n\nf = check('gpu.f', f)"
    )
    assert b"from labkit.fpga.board.pynq_package.late_pynq import allocate\n" in made.data
    assert b"from pynq" not in made.data
