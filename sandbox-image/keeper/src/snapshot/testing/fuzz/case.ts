import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Program } from '../../base/program.ts';
import { clearByRunner, setMetaByRunner, treeStatsByRunner, xattrsByRunner } from '../../base/xattrs.ts';
import type { CasEngine, CasOptions } from '../../cas/casEngine.ts';
import { Harness } from '../harness.ts';
import { runScript, unpackBundle } from '../revertTrip.ts';
import { type FuzzOperation, applyFuzz } from './operations.ts';

export interface FuzzCase {
  readonly setup: readonly FuzzOperation[];
  readonly changes: readonly FuzzOperation[];
  /** Milliseconds after which the process that restores is killed; null: it is not. */
  readonly killAfterMs: number | null;
}

const SHELL = { command: ['sh'], path: process.env['PATH'] ?? '/usr/bin:/bin', exactTimes: true };
const VICTIM = fileURLToPath(new URL('victim.ts', import.meta.url));
const hasGetfattr = spawnSync('getfattr', ['--version']).status === 0;
const hasSetfattr = spawnSync('setfattr', ['--version']).status === 0;

/** The keeper's own parts, used for a tree of any size. */
export function withRunner(binary: string): Required<Pick<CasOptions, 'clear' | 'setMeta' | 'treeStats' | 'xattrs'>> {
  const runner = new Program(binary, 100);
  return {
    setMeta: setMetaByRunner(runner),
    clear: clearByRunner(runner),
    treeStats: treeStatsByRunner(runner, 0),
    xattrs: xattrsByRunner(runner),
  };
}

/**
 * Tests undo on one random history in both ways: the revert script restores the tree and the redo script applies the
 * change again; then the engine does the same, in some cases over a restore that was killed. The tree is read by code
 * independent of the engine, attributes by `getfattr` where it is installed.
 */
export async function assertUndone(runner: string, { setup, changes, killAfterMs }: FuzzCase): Promise<void> {
  const harness = new Harness();
  const programs = withRunner(runner);
  const tools = { base: harness.dir, xattrs: programs.xattrs };
  const states = (): string[] => [...harness.describe(), ...attributes(harness)];
  try {
    await applyFuzz(tools, setup);
    const engine = await harness.engine(programs);
    const before = states();
    const taken = await engine.take();
    assert.deepEqual(states(), before, 'a take changes nothing');
    await applyFuzz(tools, changes);
    const after = states();
    const later = await engine.take();
    const dir = await unpackBundle(harness, engine, taken.id, later.id);
    for (const [script, goal] of [
      ['revert.sh', before],
      ['redo.sh', after],
    ] as const) {
      const { status, output } = runScript(SHELL, join(dir, script));
      assert.equal(status, 0, `${script}: ${output}`);
      assert.deepEqual(
        hasSetfattr ? states() : harness.describe(),
        goal.slice(0, hasSetfattr ? undefined : harness.describe().length),
        script,
      );
    }
    if (killAfterMs !== null) await killInRestore(harness, runner, taken.id, killAfterMs);
    const survivor = killAfterMs === null ? engine : await harness.engine(withRunner(runner));
    await assertRestored(survivor, taken, states, before);
    await assertRestored(survivor, later, states, after);
  } finally {
    await harness.dispose();
  }
}

async function assertRestored(
  engine: CasEngine,
  { id, manifestDigest }: { readonly id: string; readonly manifestDigest: string },
  states: () => string[],
  goal: readonly string[],
): Promise<void> {
  const report = await engine.restore(id);
  assert.equal(report.verified && report.manifestDigest, manifestDigest);
  assert.deepEqual(states(), goal, `restore of ${id}`);
}

/** Restores in a separate process and kills it. */
async function killInRestore(harness: Harness, runner: string, id: string, afterMs: number): Promise<void> {
  const child = spawn(process.execPath, [VICTIM, harness.dir, runner, id], { stdio: ['ignore', 'pipe', 'ignore'] });
  const ended = new Promise((resolve) => child.once('close', resolve));
  // It has opened the store and continues at once.
  await Promise.race([new Promise((resolve) => child.stdout.once('data', resolve)), ended]);
  const timer = setTimeout(() => child.kill('SIGKILL'), afterMs);
  await ended;
  clearTimeout(timer);
}

function attributes(harness: Harness): string[] {
  if (!hasGetfattr) return [];
  const roots = [harness.workspace, harness.home];
  const { stdout, error } = spawnSync(
    'getfattr',
    ['-R', '-P', '-h', '-d', '-m', '^user\\.', '-e', 'base64', '--absolute-names', ...roots],
    {
      encoding: 'latin1',
      maxBuffer: 1 << 28,
    },
  );
  // No room for a process: the machine's fault, not the engine's.
  if (error !== undefined) throw error;
  return stdout.split('\n\n').sort();
}
