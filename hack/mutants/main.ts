// Plants each bug of test/mutants.md in a copy of the committed tree and runs the test that must catch it.
// `--only=WORDS` plants those whose promise has the words. Ends with 1 when a bug survives.
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { plantedBugs, plant, type PlantedBug } from './plant.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Runs the test of a bug in `tree`; true when the test passes. */
async function passes(tree: string, { test }: PlantedBug): Promise<boolean> {
  const options = { reject: false, timeout: 300_000, forceKillAfterDelay: 1000 } as const;
  const [path = '', pattern] = test.split(' ');
  if (pattern !== undefined) {
    const argv = ['test', '-count=1', '-run', pattern, path];
    return (await execa('go', argv, { ...options, cwd: join(tree, 'sandbox-image/runner') })).exitCode === 0;
  }
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  return (await execa(process.execPath, [vitest, 'run', '--project', 'unit', path], { ...options, cwd: tree })).exitCode === 0;
}

/** Returns whether the test of a bug fails with it. */
async function caught(tree: string, bug: PlantedBug): Promise<boolean> {
  const { file, text } = plant(tree, bug);
  const path = join(tree, file);
  const good = await readFile(path, 'utf8');
  await writeFile(path, text);
  try {
    return !(await passes(tree, bug));
  } finally {
    await writeFile(path, good);
  }
}

const only = process.argv.find((word) => word.startsWith('--only='))?.slice('--only='.length) ?? '';
const chosen = plantedBugs(root).filter(({ promise }) => promise.includes(only));
if (chosen.length === 0) throw new Error('no promise has the words of --only; see test/mutants.md');
const lanes = Math.max(1, Math.min(availableParallelism() - 1, chosen.length));
const waiting = [...chosen];
const survivors: string[] = [];

/** Gives a tree the installed packages; those of this repository lead into the tree itself, so that a bug in one is seen by the others. */
async function linkPackages(tree: string): Promise<void> {
  const [from, to] = [join(root, 'node_modules'), join(tree, 'node_modules')];
  await mkdir(to);
  const names = (await readdir(from)).filter((name) => name !== '@agentfleet' && !name.startsWith('.'));
  await Promise.all(names.map((name) => symlink(join(from, name), join(to, name))));
  await cp(join(from, '@agentfleet'), join(to, '@agentfleet'), { recursive: true, verbatimSymlinks: true });
}

/** Plants bugs one after the other in a separate tree, until none is left. */
async function lane(): Promise<void> {
  const tree = await mkdtemp(join(tmpdir(), 'agentfleet-mutants-'));
  try {
    await execa('git', ['worktree', 'add', '--detach', '--force', tree, 'HEAD'], { cwd: root });
    await linkPackages(tree);
    for (let bug = waiting.shift(); bug !== undefined; bug = waiting.shift()) {
      const found = await caught(tree, bug);
      console.log(`${found ? 'caught  ' : 'SURVIVED'} ${bug.promise}`);
      if (!found) survivors.push(bug.promise);
    }
  } finally {
    await execa('git', ['worktree', 'remove', '--force', tree], { cwd: root, reject: false });
    await rm(tree, { recursive: true, force: true });
  }
}

await Promise.all(Array.from({ length: lanes }, lane));
console.log(`${chosen.length - survivors.length} passed, ${survivors.length} failed`);
process.exitCode = survivors.length === 0 ? 0 : 1;
