import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { layOut } from '@agentfleet/eval/verify';
import { loadPack, patchChanges, type PackTask, type Tree } from '@agentfleet/eval/format';
import { describe, expect, it } from 'vitest';
import { gradePrediction, instanceOf, patchOf, readPredictions, toJsonLines, toPrediction } from './predictions.ts';

const run = promisify(execFile);
const folder = fileURLToPath(new URL('.', import.meta.url));
const { manifest, tasks } = await loadPack(folder);
const options = { memoryMiB: 512, signal: new AbortController().signal };
const first = tasks[0] as PackTask;
const gold = toPrediction(first, first.oracle.files, 'ours/gold');

/** Lines of a tree that hold something; what must raise stands in a line of its own. */
const assertions = (tree: Tree): readonly string[] =>
  Object.values(tree).flatMap((text) =>
    text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => /^(self\.assert(?!Raises)|assert|parse\()/.test(line)),
  );

/** The commit that these files make, always by the same author at the same time. */
async function commitOf(path: string, message: string): Promise<string> {
  const place = await mkdtemp(join(tmpdir(), 'agentfleet-repo-'));
  const date = '2026-01-05T09:00:00Z';
  const who = { GIT_AUTHOR_NAME: 'AgentFleet', GIT_AUTHOR_EMAIL: 'packs@agentfleet.dev', GIT_AUTHOR_DATE: date };
  const by = { GIT_COMMITTER_NAME: 'AgentFleet', GIT_COMMITTER_EMAIL: 'packs@agentfleet.dev', GIT_COMMITTER_DATE: date };
  const env = { PATH: process.env['PATH'], HOME: place, GIT_CONFIG_NOSYSTEM: '1', GIT_DIR: join(place, '.git'), GIT_WORK_TREE: path };
  const git = async (...args: string[]): Promise<string> =>
    (await run('git', args, { cwd: path, env: { ...env, ...who, ...by } })).stdout.trim();
  try {
    await git('init', '-q', '-b', 'main');
    await git('add', '-A');
    await git('commit', '-qm', message);
    return await git('rev-parse', 'HEAD');
  } finally {
    await rm(place, { recursive: true, force: true });
  }
}

describe('instances', () => {
  it('are enough, of several repositories', () => {
    expect(tasks.length).toBeGreaterThanOrEqual(40);
    expect(Object.keys(manifest.repos ?? {}).length).toBeGreaterThanOrEqual(5);
  });

  it('begin with a test that fails, and hide others', () => {
    for (const { id, visible, hidden, files } of tasks) {
      expect(visible.start, id).toBe('fails');
      const seen = new Set(assertions(files));
      expect(assertions(visible.files).length, id).toBeGreaterThan(0);
      expect(
        assertions(hidden.files).filter((line) => assertions(visible.files).includes(line)),
        id,
      ).toEqual([]);
      expect(
        assertions(hidden.files).some((line) => !seen.has(line)),
        id,
      ).toBe(true);
    }
  });

  it('name the commit that their sources make', async () => {
    for (const name of await readdir(join(folder, 'repos'))) {
      const [base = ''] = await readdir(join(folder, 'repos', name));
      const version = tasks.find(({ facts }) => facts['base'] === base)?.facts['version'];
      const made = await commitOf(join(folder, 'repos', name, base), `Import ${name.split('__')[1] ?? ''} ${String(version)}`);
      expect(made, name).toBe(base);
    }
  });
});

describe('predictions', () => {
  it('have exactly the members of the format', () => {
    const [line = ''] = toJsonLines([gold]).split('\n');
    expect(Object.keys(JSON.parse(line) as object)).toEqual(['instance_id', 'model_name_or_path', 'model_patch']);
    expect(readPredictions(toJsonLines([gold, gold]))).toEqual([gold, gold]);
    expect(readPredictions(JSON.stringify([{ ...gold, model_patch: null, extra: 1 }]))).toEqual([{ ...gold, model_patch: null }]);
    expect(() => readPredictions('{"instance_id": "x"}')).toThrow(/prediction 1 lacks/);
  });

  it('lead from the sources to the solution', () => {
    for (const task of tasks) {
      const changes = Object.fromEntries(Object.entries(task.oracle.files).filter(([path, text]) => task.files[path] !== text));
      expect(patchChanges(task.files, patchOf(task.files, task.oracle.files)), task.id).toEqual(changes);
    }
  });

  it('are patches that git takes', async () => {
    const place = await mkdtemp(join(tmpdir(), 'agentfleet-patch-'));
    const before = { 'a.txt': 'one\ntwo\n', 'gone.txt': 'g\n', 'open.txt': 'no end' };
    const changes = { 'a.txt': 'one\n2\n', 'gone.txt': null, 'open.txt': 'still no end', 'new/b.txt': 'b\n' };
    try {
      await layOut(place, before);
      await writeFile(join(place, 'p.diff'), patchOf(before, changes));
      await run('git', ['init', '-q', '.'], { cwd: place });
      await run('git', ['apply', 'p.diff'], { cwd: place });
      const { stdout } = await run('sh', ['-c', 'cat a.txt open.txt new/b.txt; ls'], { cwd: place });
      expect(stdout).toBe('one\n2\nstill no endb\na.txt\nnew\nopen.txt\np.diff\n');
    } finally {
      await rm(place, { recursive: true, force: true });
    }
  });
});

describe('grades', () => {
  it('resolve by the solution, and by nothing else', async () => {
    expect(await gradePrediction(first, gold, options)).toMatchObject({ patch_successfully_applied: true, resolved: true });
    const comment = toPrediction(first, { 'NOTES.md': 'n\n' }, 'ours/none');
    const grade = await gradePrediction(first, comment, options);
    expect(grade).toMatchObject({ patch_exists: true, resolved: false });
    expect(grade.tests_status?.FAIL_TO_PASS.success).toEqual([]);
    expect(grade.tests_status?.PASS_TO_PASS.failure).toEqual([]);
  });

  it('refuse patches that are empty, absent or of another place', async () => {
    const none = { patch_successfully_applied: false, resolved: false };
    expect(await gradePrediction(first, { ...gold, model_patch: null }, options)).toEqual({
      patch_is_None: true,
      patch_exists: false,
      ...none,
    });
    expect(await gradePrediction(first, { ...gold, model_patch: ' \n' }, options)).toEqual({
      patch_is_None: false,
      patch_exists: false,
      ...none,
    });
    const stale = { ...gold, model_patch: (gold.model_patch ?? '').replaceAll(/^ .*$/gm, ' other') };
    expect(await gradePrediction(first, stale, options)).toEqual({ patch_is_None: false, patch_exists: true, ...none });
  });

  it('show the tests that a solution breaks', async () => {
    const broken = Object.fromEntries(Object.keys(first.oracle.files).map((path) => [path, 'raise RuntimeError\n']));
    const grade = await gradePrediction(first, toPrediction(first, broken, 'ours/broken'), options);
    expect(grade).toMatchObject({ patch_successfully_applied: true, resolved: false });
    expect(grade.tests_status?.PASS_TO_PASS.failure.length).toBeGreaterThan(0);
  });

  it('name instances as their file does', () => {
    expect(instanceOf(first)).toMatch(/^fernwork__[a-z]+-\d+$/);
  });
});
