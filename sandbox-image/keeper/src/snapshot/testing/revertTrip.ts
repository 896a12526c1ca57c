import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { CasEngine } from '../cas/casEngine.ts';
import { isScript } from '../revert/script.ts';
import { Harness } from './harness.ts';
import { applyOperations, type TreeOperation } from './treeOps.ts';

/** Shell for a script: `['sh']`, or busybox with its own tools first in PATH. */
export interface ShellUnderTest {
  readonly command: readonly string[];
  readonly path: string;
  /** False when its `touch` knows whole seconds only. */
  readonly exactTimes: boolean;
}

/** Unpacks the bundle of two states next to the tree and returns its directory. */
export async function unpackBundle(harness: Harness, engine: CasEngine, from: string, to: string): Promise<string> {
  const dir = fs.mkdtempSync(join(harness.dir, 'bundle-'));
  const input = await buffer(await engine.revertBundle(from, to));
  const { status, stderr } = spawnSync('tar', ['-x', '-C', dir], { input, encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return dir;
}

/** Runs a script of a bundle; returns its exit status and its output. */
export function runScript(shell: ShellUnderTest, script: string, args: readonly string[] = []): { status: number | null; output: string } {
  const [command = 'sh', ...first] = shell.command;
  const done = spawnSync(command, [...first, script, ...args], { encoding: 'utf8', env: { PATH: shell.path } });
  return { status: done.status, output: done.stdout + done.stderr };
}

/** Undo, undo again, redo, on one random history; the tree is compared by code that is not the engine's. */
export async function assertRevertTrip(shell: ShellUnderTest, sequences: readonly (readonly TreeOperation[])[]): Promise<void> {
  const [setup = [], changes = []] = sequences;
  const harness = new Harness();
  const describe = () => (shell.exactTimes ? harness.describe() : harness.describe().map(withoutTime));
  try {
    applyOperations(harness.dir, setup);
    const engine = await harness.engine();
    const before = describe();
    await engine.take();
    applyOperations(harness.dir, changes);
    const after = describe();
    const dir = await unpackBundle(harness, engine, 's0001', 'current');
    const expectDone = (script: string, args?: readonly string[]) => {
      const { status, output } = runScript(shell, join(dir, script), args);
      assert.equal(status, 0, `${script}: ${output}`);
    };
    for (const script of ['revert.sh', 'redo.sh']) assert.ok(isScript(fs.readFileSync(join(dir, script), 'latin1')), script);
    expectDone('revert.sh', ['--dry-run']);
    assert.deepEqual(describe(), after);
    expectDone('revert.sh');
    assert.deepEqual(describe(), before);
    expectDone('revert.sh');
    assert.deepEqual(describe(), before);
    expectDone('redo.sh');
    assert.deepEqual(describe(), after);
  } finally {
    await harness.dispose();
  }
}

/** A described path with its time cut off; the time is the second word after the path, or last but for the content. */
function withoutTime(line: string): string {
  return line.replace(/ -?\d{6,}(?= |$)/, '').replace(/ -?\d{1,2}(?= |$)/, '');
}
