import type { Entries } from './entries.ts';
import { parentsOf } from './paths.ts';

/** Modules that Python test runners import; a file of that name in an import root comes first. */
const pythonModules = new Set(
  `pytest _pytest py pluggy iniconfig unittest unittest2 nose nose2 mock hypothesis coverage xdist doctest sitecustomize usercustomize
  abc argparse ast asyncio atexit builtins bdb cmd code codecs collections contextlib copy dataclasses datetime decimal difflib dis enum errno
  faulthandler fnmatch functools gc glob importlib inspect io itertools json linecache locale logging math operator os packaging pathlib pdb
  pickle pkgutil platform pprint random re reprlib runpy select shlex shutil signal site socket string struct subprocess sys sysconfig tempfile
  textwrap threading time timeit token tokenize tomllib traceback types typing typing_extensions uuid warnings weakref xml zipfile exceptiongroup tomli colorama pygments
  numpy pandas django flask requests aiohttp freezegun responses parameterized ddt testtools twisted trio anyio`.split(/\s+/),
);

/**
 * New files that would be found instead of what the checks use. `trees` is the tree of snapshot 0:
 * what was there already is the project's own.
 */
export function shadowing(tree: readonly string[], testFiles: readonly string[], entries: Entries): (path: string) => string | null {
  const existing = new Set(tree.flatMap((path) => [path, ...parentsOf(path)]));
  const roots = importRoots(testFiles);
  const usesPython = testFiles.some((path) => path.endsWith('.py')) || [...entries.tools].some((tool) => /^(?:py|nose|tox)/.test(tool));
  return (path) => {
    if (existing.has(path)) return null;
    return (usesPython ? pythonShadow(path, roots, existing) : null) ?? toolShadow(path, entries) ?? targetShadow(path, existing, entries);
  };
}

/** The workspace, source roots, and where test files are and lie under (pytest's `rootdir` and `prepend` import mode). */
function importRoots(testFiles: readonly string[]): ReadonlySet<string> {
  const roots = new Set(['', 'src', 'lib', 'python']);
  for (const path of testFiles) {
    if (!path.endsWith('.py')) continue;
    const parents = parentsOf(path);
    for (const parent of parents.slice(-2)) roots.add(parent);
  }
  return roots;
}

function pythonShadow(path: string, roots: ReadonlySet<string>, existing: ReadonlySet<string>): string | null {
  for (const root of roots) {
    const rest = root === '' ? path : path.startsWith(`${root}/`) ? path.slice(root.length + 1) : null;
    if (rest === null) continue;
    const [first = '', second] = rest.split('/');
    const name = first.replace(/\.(?:py|pyw|so|pyd|[\w-]+\.so)$/, '');
    const isModule = second === undefined ? name !== first || !first.includes('.') : true;
    if (!isModule || !(pythonModules.has(name) || name.startsWith('pytest_'))) continue;
    const base = root === '' ? name : `${root}/${name}`;
    if (existing.has(base) || existing.has(`${base}.py`)) continue;
    return `Python would import it instead of the module ${name}`;
  }
  return null;
}

/** A program of the name that a check calls, where `PATH` may look. */
function toolShadow(path: string, { tools }: Entries): string | null {
  const parents = path.split('/');
  const name = parents.pop() ?? '';
  const place = parents.join('/');
  return tools.has(name) && /^(?:|(?:.*\/)?(?:\.?bin|sbin|scripts|tools|\.local\/bin))$/.test(place)
    ? `it could be run instead of the program ${name}`
    : null;
}

/** A file of a make target's name makes the target "up to date": its recipe is not run. */
function targetShadow(path: string, existing: ReadonlySet<string>, { targets }: Entries): string | null {
  const top = path.split('/', 1)[0] ?? '';
  return (targets.has(path) || targets.has(top)) && !existing.has(top) ? `make would take it for its target ${top} and run nothing` : null;
}
