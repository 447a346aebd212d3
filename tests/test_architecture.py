"""The rules of the code base, checked by reading its sources."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
import sunrise
from sunrise.families import FAMILIES
from sunrise.families.base import Family

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "python" / "sunrise"

#: The total order of imports: a module imports only from folders above its own, and inside its folder only from
#: modules to its left.
ORDER = {
    "_common": "arrays lazy stored threads warnings versioned labels",
    "statistics": "terms bounds grids support deferred base sums moments products counts fading empirical words "
    "bursts model",
    "numerics": "special conjugate normal_inverse_gamma evidence quadrature bandwidth bin_edges polya",
    "forms": "base linear table pointwise polya distance rising removal quadratic kernel_density kernel_removal "
    "kernel_draws",
    "data": "errors levels profile weights column dates join findings blocks columns types frame derive rows row_hash "
    "write align labels kept_rows",
    "text": "alphabet texts vocabulary counter hashed",
    "engines": "array_loss array_temperature array_words array native_weights native_words pieces native",
    "families": "left_out counts_left_out documents_left_out cells record_cells readers text_reader pair_reader "
    "standard_reader "
    "capabilities base kept_values smoothing priors pseudo_row categorical binned bernoulli beta exponential "
    "gamma gaussian geometric kernel laplace lognormal multinomial negative_binomial poisson vonmises "
    "zero_inflated_poisson complement odds dirichlet_multinomial correlated together joint text",
    "model": "settings choice given_families interaction schema word_weights calibration_weights class_prior "
    "accumulate record fitted compression suppression encode_rows score",
    "inference": "quality scores left_out_blocks leave_one_out held_out few_values folds optimise penalty score_blocks "
    "column_weights "
    "temperature calibration word_weights word_choice em_report em decisions word_evidence block_evidence "
    "evidence_sd comparison "
    "explain intervals linear_form posteriors sampling",
    "selection": "rules density distinct row_scores decide by_score choose waking duplicates mutual_information "
    "search_rows counted_pairs pairs "
    "together given_interactions "
    "text_settings",
    "store": "errors container packing classes values files state inspect accumulator",
    "export": "refusals curves description shapes json_text sql_dialects sql_derived sql_functions sql_tables "
    "sql_blocks sql_query onnx_graph onnx_blocks onnx_numbers onnx_tables onnx_text onnx_model onnx_inputs",
    "report": "ranges pictures facts page",
    "streams": "source sample partitioned batches files_arrow files_text files checkpoint progress predictions "
    "relation expressions sql lazy_predictions grouped sums value_counts pushdown lazy",
    "estimators": "base constraints fitted_attribute given_parameters mixed_parameters training_rows interacting "
    "procedure_score calibrating stream partitioned_fit lazy_fit source_fit algebra learning source_predict prediction "
    "reliability text_tables generative privacy display summary words exporting reporting saving naive_bayes "
    "single_family bernoulli_nb categorical_nb complement_nb dirichlet_multinomial_nb gaussian_nb kernel_nb "
    "multinomial_nb poisson_nb auto_settings text_nb selector window compare cross_validation",
    "cluster": "errors parts tasks row_groups spark_jobs spark_sums spark",
    "mlflow": "",
    "datasets": "",
    "plots": "style waterfall reliability confusion drift words word_evidence parameters nomogram_scales nomogram "
    "density_panels densities interaction",
    "demo": "",
    "cli": "messages options documents rows card show models changed fit predict evaluate explain inspect compare "
    "merge forget export report app __main__",
}
RANK = {
    f"{folder}.{module}" if module else folder: rank
    for rank, (folder, module) in enumerate(
        (folder, module) for folder, modules in ORDER.items() for module in [*modules.split(), ""]
    )
}


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def imports(path: Path) -> set[str]:
    """Modules of the package that a file imports at run time, whole or a name of theirs."""
    tree = ast.parse(path.read_text())
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "sunrise":
            if id(node) in typing_only:
                continue
            folder = node.module.removeprefix("sunrise").removeprefix(".")
            for alias in node.names:
                whole = f"{folder}.{alias.name}".removeprefix(".")
                modules.add(whole if whole in RANK else folder)
    return modules - {"", "_native"}


FILES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_imports_follow_the_total_order(path):
    own = module_name(path)
    assert own in RANK, f"add {own} to ORDER"
    for other in imports(path):
        assert RANK[other] < RANK[own] or other == own.split(".")[0], f"{own} imports {other}"


def test_the_order_lists_no_module_that_is_gone():
    assert set(RANK) == {module_name(path) for path in FILES}


@pytest.mark.parametrize("folder", sorted(path.parent for path in PACKAGE.glob("*/__init__.py")), ids=str)
def test_every_folder_says_what_lives_there(folder):
    docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text()))
    assert docstring and len(docstring.split()) >= 8


def test_files_are_short_or_say_why_not():
    for path, most in [*((p, 400) for p in FILES), *((p, 500) for p in (ROOT / "crates").rglob("*.rs"))]:
        lines = path.read_text().splitlines()
        assert len(lines) <= most or "long because" in "\n".join(lines[:20]), (
            f"{path.name}: {len(lines)} lines"
        )


def without_docstrings(tree: ast.AST) -> ast.AST:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and ast.get_docstring(node):
            node.body = node.body[1:] or [ast.Pass()]
    return tree


DRIVERS = [
    path
    for folder in ("data", "engines", "model", "inference", "selection")
    for path in PACKAGE.glob(f"{folder}/*.py")
]


@pytest.mark.parametrize("path", DRIVERS, ids=module_name)
def test_drivers_know_no_family(path):
    code = ast.unparse(without_docstrings(ast.parse(path.read_text())))
    for family in FAMILIES.values():
        assert f"families.{family.name} import" not in code
        if path.parent.name in ("data", "engines", "model"):
            assert not re.search(rf"isinstance\([^)]*\b{family.__name__}\b", code)


#: Files of the folder that are not families.
SHARED = {
    "__init__",
    "base",
    "capabilities",
    "counts_left_out",
    "documents_left_out",
    "cells",
    "joint",
    "kept_values",
    "left_out",
    "pair_reader",
    "priors",
    "pseudo_row",
    "readers",
    "record_cells",
    "smoothing",
    "standard_reader",
    "text_reader",
    "together",
}


def test_every_family_is_one_file_registered_and_exported():
    files = {path.stem for path in (PACKAGE / "families").glob("*.py")} - SHARED
    assert files == set(FAMILIES)
    for family in FAMILIES.values():
        assert getattr(sunrise, family.__name__) is family and family.__name__ in sunrise.__all__


def test_a_family_is_narrow():
    public = {name for name in dir(Family) if not name.startswith("_")}
    public |= {name for name in Family.__annotations__ if not name.startswith("_")}
    assert len(public) <= 30, sorted(public)


def test_no_flag_is_set_by_one_family_alone():
    flags = [name for name, value in vars(Family).items() if isinstance(value, bool)]
    assert flags
    for flag in flags:
        setters = [
            f.name
            for f in FAMILIES.values()
            if any(flag in vars(base) for base in f.__mro__ if base is not Family)
        ]
        assert len(setters) != 1, (flag, setters)


def methods() -> list[tuple[str, str]]:
    return [
        (path.name, node.name)
        for path in PACKAGE.rglob("*.py")
        if path.name not in ("selector.py", "window.py", "spark.py")  # they fit a model, they are none
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
    ]


def test_there_is_one_fit_and_one_predict():
    for file, names in {
        "learning.py": ("fit", "partial_fit", "forget"),
        "algebra.py": ("merge", "decay"),
        "prediction.py": ("predict", "predict_proba", "to_linear", "explain"),
    }.items():
        for name in names:
            assert [m for m in methods() if m[1] == name] == [(file, name)]


def test_there_is_one_log_sum_exp():
    pattern = r"logsumexp\(|log1p\((np\.)?(exp|rest)|logaddexp\.reduce"
    uses = {module_name(path) for path in FILES if re.search(pattern, path.read_text())}
    assert uses == {"numerics.special"}  # the readable twin of the one in Rust


def test_the_array_engine_stays_readable():
    code = ast.unparse(without_docstrings(ast.parse((PACKAGE / "engines" / "array.py").read_text())))
    assert sum(bool(line.strip()) for line in code.splitlines()) < 150


def test_native_code_is_safe_but_for_the_arrow_import():
    assert "#![forbid(unsafe_code)]" in (ROOT / "crates/sunrise-core/src/lib.rs").read_text()
    assert "#![deny(unsafe_code)]" in (ROOT / "crates/sunrise-py/src/lib.rs").read_text()
    unsafe = {p.name for p in (ROOT / "crates").rglob("*.rs") if "allow(unsafe_code)" in p.read_text()}
    assert unsafe == {"import.rs"}


def test_only_one_file_uses_a_private_module_of_scikit_learn():
    pattern = re.compile(r"sklearn(\.\w+)*\._\w+")
    assert {module_name(p) for p in FILES if pattern.search(p.read_text())} == {"estimators.constraints"}


def loaded_modules(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_the_package_loads_nothing_heavy():
    # A count of modules, not a clock: a loaded machine does not change it.
    loaded = loaded_modules("import sunrise")
    assert not {name.split(".")[0] for name in loaded} & {
        "numpy",
        "scipy",
        "sklearn",
        "pandas",
        "polars",
        "pyarrow",
    }
    parts = "base", "utils.validation", "utils.multiclass", "utils.metaestimators"
    own = loaded_modules("import sunrise; sunrise.NaiveBayes")
    own -= loaded_modules("import " + ", ".join(f"sklearn.{part}" for part in parts))
    assert not {name.split(".")[0] for name in own} & {"pandas", "polars", "pyarrow", "matplotlib"}
    assert "sklearn.feature_selection" not in own and "scipy.stats" not in own


def test_every_public_name_is_there_and_typed():
    assert "NaiveBayes" in sunrise.__all__ and "Poisson" in sunrise.__all__
    for name in sunrise.__all__:
        assert getattr(sunrise, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Gausian'"):
        _ = sunrise.Gausian
    assert inspect.isclass(sunrise.TextNB)
