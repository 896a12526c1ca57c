import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { CasEngine } from './cas/casEngine.ts';
import { SnapshotError } from './base/errors.ts';
import { Program } from './base/program.ts';
import { setMetaByRunner } from './base/xattrs.ts';
import { describeTree, Harness } from './testing/harness.ts';
import { buildRunner } from './testing/runner.ts';

let h: Harness;
let runner: ReturnType<typeof buildRunner>;
beforeAll(() => {
  runner = buildRunner();
}, 120_000);
afterAll(() => runner?.remove());

/** A folder outside of the roots, whose content must not be read, changed, added to or removed. */
let outside: string;

beforeEach(() => {
  h = new Harness();
  outside = join(h.dir, 'outside');
  fs.mkdirSync(join(outside, 'sub'), { recursive: true });
  fs.mkdirSync(join(outside, 'new'));
  for (const name of ['a', 'b', 'sub/c', 'new/file']) fs.writeFileSync(join(outside, name), `secret of ${name}`);
  fs.mkdirSync(join(outside, 'closed'), { mode: 0o500 });
});
afterEach(() => h.dispose());

/** `d` as a snapshot has it, and then changed in every way that a restore has to undo. */
function plant(): void {
  fs.mkdirSync(join(h.workspace, 'd/sub'), { recursive: true });
  fs.mkdirSync(join(h.workspace, 'd/closed'), { mode: 0o700 });
  for (const name of ['a', 'b', 'sub/c', 'linked']) fs.writeFileSync(join(h.workspace, 'd', name), `mine ${name}`);
  fs.linkSync(join(h.workspace, 'd/linked'), join(h.workspace, 'd/sub/second'));
}

function emptyStore(): void {
  fs.rmSync(h.storeDir, { recursive: true });
  fs.mkdirSync(h.storeDir);
}

/** An empty store, and the tree as it was planted. */
function afresh(): void {
  for (const name of ['away', 'd']) fs.rmSync(join(h.workspace, name), { recursive: true, force: true });
  emptyStore();
  plant();
}

function wreck(): void {
  const d = join(h.workspace, 'd');
  fs.writeFileSync(join(d, 'a'), 'changed');
  fs.chmodSync(join(d, 'b'), 0o777);
  fs.rmSync(join(d, 'sub'), { recursive: true });
  fs.mkdirSync(join(d, 'new'));
  fs.writeFileSync(join(d, 'new/file'), 'new');
  fs.chmodSync(join(d, 'closed'), 0o000);
}

const swap = (): void => {
  const [d, away] = [join(h.workspace, 'd'), join(h.workspace, 'away')];
  if (fs.existsSync(away) || !fs.existsSync(d)) return;
  fs.renameSync(d, away);
  fs.symlinkSync(outside, d);
};

const calls = [
  'openSync',
  'readlinkSync',
  'chmodSync',
  'unlinkSync',
  'rmdirSync',
  'mkdirSync',
  'renameSync',
  'linkSync',
  'readdirSync',
  'lstatSync',
] as const;

/** Runs `job`; just before its call number `at` that looks at the tree or changes it, `attack` is run. Tells whether it was. */
async function attacked(at: number, attack: () => void, job: () => Promise<unknown>): Promise<{ ran: boolean; error: unknown }> {
  const mutable = fs as unknown as Record<string, (...args: unknown[]) => unknown>;
  const real = { ...fs } as unknown as Record<string, (...args: unknown[]) => unknown>;
  let [count, ran] = [0, false];
  const restore = (): void => {
    for (const name of calls) mutable[name] = real[name] as (...args: unknown[]) => unknown;
  };
  for (const name of calls) {
    mutable[name] = (...args) => {
      if (count++ === at) {
        restore();
        attack();
        ran = true;
      }
      return real[name]?.(...args);
    };
  }
  try {
    await job();
    return { ran, error: null };
  } catch (error) {
    return { ran, error };
  } finally {
    restore();
  }
}

/** With the real runner, which sets the times and must obey the same rule. */
function engineOf(context: { skip(): never }): Promise<CasEngine> {
  if (runner === null) {
    console.warn('SKIPPED: the runner cannot be built here');
    return context.skip();
  }
  return h.engine({ setMeta: setMetaByRunner(new Program(runner.binary)) });
}

/** Types of a path, and how each is created. */
const kinds: readonly (readonly [name: string, make: (path: string) => void])[] = [
  ['a file', (path) => fs.writeFileSync(path, 'text')],
  ['a closed file', (path) => fs.writeFileSync(path, 'text', { mode: 0o200 })],
  ['a folder', (path) => fs.mkdirSync(path)],
  ['a closed folder', (path) => fs.mkdirSync(path, { mode: 0o000 })],
  ['a link', (path) => fs.symlinkSync(outside, path)],
  ['a fifo', (path) => execFileSync('mkfifo', [path])],
  ['nothing', () => undefined],
];

const isRefusal = (error: unknown): boolean => error === null || error instanceof SnapshotError;

describe('a folder that is swapped for a link out of the roots', () => {
  test('before any step of a restore leads no step of it there, and the next restore is exact', { timeout: 120_000 }, async (context) => {
    let refused = 0;
    for (let at = 0; ; at++) {
      afresh();
      const engine = await engineOf(context);
      const { id } = await engine.take();
      const before = h.describe();
      wreck();
      const theirs = describeTree(outside, 'outside', new Map());
      const { ran, error } = await attacked(at, swap, () => engine.restore(id));
      expect(describeTree(outside, 'outside', new Map())).toEqual(theirs);
      expect(isRefusal(error), String(error)).toBe(true);
      if (error !== null) refused += 1;
      expect(await engine.restore(id)).toMatchObject({ verified: true });
      expect(h.describe()).toEqual(before);
      if (!ran) break;
    }
    expect(refused).toBeGreaterThan(10);
  });

  test('before any step of a take brings nothing from there into the store', { timeout: 120_000 }, async (context) => {
    const wrong: string[] = [];
    for (let at = 0; ; at++) {
      afresh();
      const engine = await engineOf(context);
      const { ran, error } = await attacked(at, swap, () => engine.take());
      expect(isRefusal(error), String(error)).toBe(true);
      for (const name of fs.readdirSync(join(h.storeDir, 'segments')))
        if (fs.readFileSync(join(h.storeDir, 'segments', name)).includes('secret of')) wrong.push(`${at} ${name}`);
      if (!ran) break;
    }
    expect(wrong).toEqual([]);
  });

  test.each(kinds.flatMap(([from, make]) => kinds.filter(([to]) => to !== from).map(([to, next]) => ({ from, to, make, next }))))(
    '$from that becomes $to before any step of a take fails it with a coded error, or not at all',
    async ({ make, next }) => {
      const path = join(h.workspace, 'x');
      const become = (kind: (path: string) => void): void => {
        fs.rmSync(path, { recursive: true, force: true });
        kind(path);
      };
      for (let at = 0, ran = true; ran; at++) {
        emptyStore();
        become(make);
        const engine = await h.engine();
        const outcome = await attacked(
          at,
          () => become(next),
          () => engine.take(),
        );
        expect(outcome.error === null || outcome.error instanceof SnapshotError, `step ${at}: ${String(outcome.error)}`).toBe(true);
        ran = outcome.ran;
        await engine.take();
      }
    },
  );

  test('again and again by a process that no stop has reached changes nothing outside', { timeout: 300_000 }, async (context) => {
    plant();
    const engine = await engineOf(context);
    const { id } = await engine.take();
    const before = h.describe();
    const theirs = describeTree(outside, 'outside', new Map());
    const program = `const fs = require('node:fs'); const [d, away, out] = process.argv.slice(1); process.stdout.write('swapping\\n');
for (;;) for (const step of [() => fs.renameSync(d, away), () => fs.symlinkSync(out, d), () => fs.unlinkSync(d), () => fs.renameSync(away, d)])
  try { step(); } catch {}`;
    const racer = spawn(process.execPath, ['-e', program, join(h.workspace, 'd'), join(h.workspace, 'away'), outside]);
    try {
      await new Promise((resolve) => racer.stdout.once('data', resolve));
      for (let round = 0; round < 100; round++) {
        try {
          fs.writeFileSync(join(h.workspace, 'top'), String(round));
          fs.rmSync(join(h.workspace, 'away'), { recursive: true, force: true });
        } catch {
          // the other one was faster
        }
        const error: unknown = await engine.restore(id).then(
          () => null,
          (why: unknown) => why,
        );
        expect(isRefusal(error), String(error)).toBe(true);
        expect(describeTree(outside, 'outside', new Map())).toEqual(theirs);
      }
    } finally {
      const ended = new Promise((resolve) => racer.once('close', resolve));
      racer.kill('SIGKILL');
      await ended;
    }
    expect(await engine.restore(id)).toMatchObject({ verified: true });
    expect(h.describe()).toEqual(before);
    expect(describeTree(outside, 'outside', new Map())).toEqual(theirs);
  });
});
