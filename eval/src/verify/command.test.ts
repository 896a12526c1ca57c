import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCommand } from './command.ts';

const limits = { timeoutSeconds: 20, memoryMiB: 256 };
const never = new AbortController().signal;
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agentfleet-command-'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const node = (program: string): string[] => ['node', '-e', program];

describe('runCommand', () => {
  it('returns status and output', async () => {
    expect(await runCommand(node('console.log(process.cwd() === process.env.HOME)'), folder, limits, never)).toMatchObject({
      passed: true,
      status: 0,
      output: 'true\n',
    });
    expect(await runCommand(node('process.exit(3)'), folder, limits, never)).toMatchObject({ passed: false, reason: 'Exit', status: 3 });
  });

  it('keeps our environment back', async () => {
    const { output } = await runCommand(node('console.log(Object.keys(process.env).join())'), folder, limits, never);
    expect(output).not.toMatch(/VITEST|NODE_OPTIONS|AGENTFLEET_SEED/);
  });

  it('ends a command that runs too long', async () => {
    const endless = node('setInterval(() => {}, 1000)');
    expect(await runCommand(endless, folder, { ...limits, timeoutSeconds: 1 }, never)).toMatchObject({ passed: false, reason: 'Timeout' });
  });

  it('ends a command that takes too much memory', async () => {
    const greedy = node('const all = []; setInterval(() => all.push(Buffer.alloc(32 << 20, 1)), 10)');
    expect(await runCommand(greedy, folder, limits, never)).toMatchObject({ passed: false, reason: 'Memory' });
  });

  it('ends when it is reported to', async () => {
    const stop = new AbortController();
    const run = runCommand(node('setInterval(() => {}, 1000)'), folder, limits, stop.signal);
    stop.abort();
    expect(await run).toMatchObject({ passed: false, reason: 'Aborted' });
  });

  it('reports a missing program', async () => {
    expect(await runCommand(['no-such-program'], folder, limits, never)).toMatchObject({ passed: false, reason: 'NotStarted' });
  });

  it('leaves no child, not even one that left its session', async () => {
    const child = `const { spawn } = require('node:child_process');
      const left = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { detached: true, stdio: 'ignore' });
      require('node:fs').writeFileSync('pid', String(left.pid));
      left.unref();`;
    expect((await runCommand(node(child), folder, limits, never)).passed).toBe(true);
    const pid = await readFile(join(folder, 'pid'), 'utf8');
    // SIGKILL was sent before the command ended; a busy machine carries it out a little later.
    await expect.poll(() => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ') Z'), { timeout: 60_000 }).toMatch(/\) [ZX]/);
  });
});
