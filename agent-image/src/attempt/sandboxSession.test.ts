import { expect, it } from 'vitest';
import { SandboxSession } from './sandboxSession.ts';

it('takes files away by as many commands as their paths need', async () => {
  const lists: (readonly string[])[] = [];
  const keeper = {
    run: ({ argv }: { readonly argv: readonly string[] }) => {
      lists.push(argv);
      return Promise.resolve({ stdout: '', stderr: '', end: { exitCode: 0, cpuMs: 1 } });
    },
  };
  const clock = { monotonic: () => 0, now: () => 0, after: () => ({ cancel: () => undefined }) };
  const task = { spec: { policy: { network: { mode: 'None' } } } };
  const context = { keeper, clock, task, signal: new AbortController().signal };
  const session = new SandboxSession(context as never, { add: () => undefined } as never, {
    roots: [{ name: 'workspace', path: '/workspace' }],
  });
  const paths = [...Array.from({ length: 9000 }, (_, n) => `d/${n}`), ...Array.from({ length: 300 }, (_, n) => `${'x'.repeat(4000)}${n}`)];
  await session.remove(paths);
  expect(lists.flatMap((argv) => argv.slice(3))).toEqual(paths.map((path) => `/workspace/${path}`));
  for (const argv of lists) {
    expect(argv.slice(0, 3)).toEqual(['rm', '-rf', '--']);
    expect(argv.length).toBeLessThanOrEqual(4096);
    expect(Buffer.byteLength(argv.join(' '))).toBeLessThan(1024 * 1024);
  }
  lists.length = 0;
  await session.remove([]);
  expect(lists).toEqual([]);
});
