// Plants each bug of mutants.ts in a copy of the committed tree and runs the test that must catch it.
// `--write` writes test/mutants.md, `--only=WORDS` plants those whose guarantee has the words, `--new` those that test/mutants.md does not
// list yet. Ends with 1 when a bug survives.
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { mutants, type Mutant } from './mutants.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Runs a mutant's test in `tree`; true when the test passes. */
async function passes(tree: string, { test }: Mutant): Promise<boolean> {
  const timeout = 300_000;
  const options = { reject: false, timeout, forceKillAfterDelay: 1000 } as const;
  if (test.kind === 'go') {
    const argv = ['test', '-count=1', '-run', test.run, test.packages];
    return (await execa('go', argv, { ...options, cwd: join(tree, 'sandbox-image/runner') })).exitCode === 0;
  }
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
  return (await execa(process.execPath, [vitest, 'run', '--project', 'unit', test.path], { ...options, cwd: tree })).exitCode === 0;
}

/** Whether the mutant's test fails with the bug. A replacement that does not fit its file is an error. */
async function caught(tree: string, mutant: Mutant): Promise<boolean> {
  const path = join(tree, mutant.file);
  const good = await readFile(path, 'utf8');
  if (good.split(mutant.find).length !== 2)
    throw new Error(`${mutant.file}: the text to replace is not there exactly once: ${mutant.find}`);
  await writeFile(
    path,
    good.replace(mutant.find, () => mutant.replace),
  );
  try {
    return !(await passes(tree, mutant));
  } finally {
    await writeFile(path, good);
  }
}

function row({ guarantee, file, test }: Mutant): string {
  const by = test.kind === 'go' ? `${test.packages} ${test.run.replaceAll('|', ', ')}` : test.path;
  return `| ${guarantee} | \`${file}\` | \`${by}\` |`;
}

function page(): string {
  const head = ['# Planted bugs', '', 'Made by `npm run mutants -- --write`: each bug below was planted and its test failed.', ''];
  return [...head, '| Guarantee | Bug planted in | Caught by |', '|---|---|---|', ...mutants.map(row), ''].join('\n');
}

const only = process.argv.find((word) => word.startsWith('--only='))?.slice('--only='.length) ?? '';
const list = join(root, 'test', 'mutants.md');
const listed = process.argv.includes('--new') ? new Set((await readFile(list, 'utf8')).split('\n')) : new Set<string>();
const chosen = mutants.filter((mutant) => mutant.guarantee.includes(only) && !listed.has(row(mutant)));
if (chosen.length === 0) throw new Error(`no guarantee has the words of --only=${only}, or all are listed; see hack/mutants/mutants.ts`);
const lanes = Math.max(1, Math.min(availableParallelism() - 1, chosen.length));
const waiting = [...chosen];
const survivors: string[] = [];

/** Plants one after the other in a tree of its own, until none waits. */
async function lane(): Promise<void> {
  const tree = await mkdtemp(join(tmpdir(), 'agentfleet-mutants-'));
  try {
    await execa('git', ['worktree', 'add', '--detach', '--force', tree, 'HEAD'], { cwd: root });
    await symlink(join(root, 'node_modules'), join(tree, 'node_modules'));
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const found = await caught(tree, mutant);
      console.log(`${found ? 'caught  ' : 'SURVIVED'} ${mutant.guarantee}`);
      if (!found) survivors.push(mutant.guarantee);
    }
  } finally {
    await execa('git', ['worktree', 'remove', '--force', tree], { cwd: root, reject: false });
    await rm(tree, { recursive: true, force: true });
  }
}

await Promise.all(Array.from({ length: lanes }, lane));
console.log(`${chosen.length - survivors.length} passed, ${survivors.length} failed`);
if (survivors.length === 0 && only === '' && process.argv.includes('--write')) await writeFile(list, page());
process.exitCode = survivors.length === 0 ? 0 : 1;
