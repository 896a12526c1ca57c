import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { buildRunner } from '../runner.ts';

/** The files that share the cases, so that they run beside one another. */
export const PARTS = 4;
const CASES = Number(process.env['FUZZ_CASES'] ?? (process.env['AGENTFLEET_FULL'] === '1' ? 10_000 : 240));
const SEED = Number(process.env['SNAPSHOT_SEED'] ?? process.env['AGENTFLEET_SEED'] ?? 1);
/** The program that runs cases. */
export const MAIN = fileURLToPath(new URL('main.ts', import.meta.url));
/** Never as root: mistakes of a case must not affect other files. */
const NOBODY = 10_001;

/** 95 % lower bound of a rate of which `n` of `n` were seen (Wilson). */
export function wilsonOfAll(n: number): number {
  return n / (n + 1.96 ** 2);
}

/** One part of the test: its share of the cases, with a seed derived from the common one. */
export function testPart(part: number): void {
  const cases = Math.ceil(CASES / PARTS);
  const seed = SEED + part;
  test(
    `${cases} random histories are undone and done again, by engine and script (seed ${seed})`,
    { timeout: 7_200_000 },
    async (context) => {
      const runner = buildRunner() ?? context.skip();
      try {
        const { status, stdout, stderr } = await run([MAIN, runner.binary, String(seed), String(cases)], runner.scratch);
        expect(stderr).toBe('');
        expect({ status, undone: stdout.trim() }).toEqual({ status: 0, undone: String(cases) });
        console.log(`${cases} of ${cases}, at least ${(100 * wilsonOfAll(cases)).toFixed(2)} % (Wilson, 95 %)`);
      } finally {
        runner.remove();
      }
    },
  );
}

/** Runs the main program, never as root, with `args`. Compiled code is kept in `scratch`: many cases start Node. */
export async function run(args: readonly string[], scratch: string): Promise<{ status: number | null; stdout: string; stderr: string }> {
  const identity = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  const { PATH, AGENTFLEET_FULL } = process.env;
  const env = { PATH, TMPDIR: '/tmp', AGENTFLEET_FULL, NODE_COMPILE_CACHE: scratch };
  const child = spawn(process.execPath, args, { ...identity, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (piece: Buffer) => (stdout += piece.toString('utf8')));
  child.stderr.on('data', (piece: Buffer) => (stderr = (stderr + piece.toString('utf8')).slice(0, 20_000)));
  const status = await new Promise<number | null>((resolve, reject) => {
    child.once('close', resolve);
    child.once('error', reject);
  });
  return { status, stdout, stderr };
}
