import picomatch from 'picomatch';
import { conventions, derivedGlobs, installConvention, toolConventions, type Convention } from './conventions.ts';
import { entriesOf, type Entries } from './entries.ts';
import { normal, parentsOf } from './paths.ts';
import { shadowing } from './shadows.ts';
import type { CheckCommand, Protect, ProtectedSet, Protection, ReadFile } from './types.ts';

type Matcher = (path: string) => boolean;

interface Rule {
  readonly matches: Matcher;
  readonly protection: Protection;
}

/**
 * What an attempt may not touch, from the tree of snapshot 0: tests, their settings, what the checks
 * run, installed packages, and `protect.paths`. `mode: None` leaves only the latter.
 *
 * @param tree paths relative to the workspace
 * @param read contents of snapshot 0; with it the scripts that scripts call are found too
 * @example
 * const set = protectedPaths(['a.py', 'tests/test_a.py'], [{ name: 'unit', command: ['pytest'] }], { mode: 'Default', paths: [] });
 * set.why('tests/conftest.py'); // { kind: 'Test', why: 'it is in a directory of tests' }
 */
export function protectedPaths(
  tree: readonly string[],
  checks: readonly CheckCommand[],
  protect: Protect,
  read: ReadFile = () => undefined,
): ProtectedSet {
  const paths = tree.map(normal).filter((path) => path !== null);
  const byDefault = protect.mode === 'Default';
  const entries = entriesOf(new Set(paths), checks, read);
  const rules = [...listed(protect.paths), ...(byDefault ? [...entryRules(entries), ...conventionRules(entries, paths)] : [])];
  const why = (path: string): Protection | null => ruleFor(rules, path);
  const files = paths.filter((path) => why(path) !== null).sort();
  const parents = new Set(files.flatMap(parentsOf));
  const tests = files.filter((path) => why(path)?.kind === 'Test');
  return {
    why,
    files,
    shadows: byDefault ? shadowing(paths, tests, entries) : () => null,
    derived: derivedMatcher(entries),
    reports: [...entries.reports].sort(),
    holdsProtected: (path) => parents.has(path),
  };
}

function ruleFor(rules: readonly Rule[], path: string): Protection | null {
  const normalised = normal(path);
  return normalised === null ? null : (rules.find(({ matches }) => matches(normalised))?.protection ?? null);
}

function listed(globs: readonly string[]): Rule[] {
  return globs.map((glob) => {
    const clean = glob.replace(/^\.?\//, '');
    // A directory's name stands for all in it.
    const matches = picomatch([clean, `${clean.replace(/\/$/, '')}/**`], { dot: true });
    return { matches, protection: { kind: 'Listed', why: `spec.protect.paths has ${glob}` } };
  });
}

function entryRules({ files }: Entries): Rule[] {
  return [...files].map(([file, check]) => ({
    matches: (path) => path === file,
    protection: { kind: 'Entry', why: `check ${check} runs it` },
  }));
}

function conventionRules({ tools, installs }: Entries, tree: readonly string[]): Rule[] {
  const used = [...conventions];
  for (const [tool, convention] of Object.entries(toolConventions)) if (tools.has(tool)) used.push(convention);
  if (installs) used.push(installConvention);
  if (tree.includes('vendor/modules.txt'))
    used.push({ globs: ['vendor/**'], protection: { kind: 'Dependency', why: 'go test compiles vendored packages' } });
  return used.map(ruleOf);
}

function ruleOf({ globs, protection, caseSensitive }: Convention): Rule {
  return { matches: picomatch([...globs], { dot: true, nocase: caseSensitive !== true }), protection };
}

function derivedMatcher({ reports }: Entries): Matcher {
  const matches = picomatch([...derivedGlobs], { dot: true });
  return (path) => matches(path) || reports.has(path);
}
