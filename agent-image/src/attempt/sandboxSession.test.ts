import { expect, it } from 'vitest';
import { KeeperRefusal, type ExecResult } from '@agentfleet/keeper/client';
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

it.each([
  ['the request was lost', new Error('other side closed')],
  ['the keeper did not know the command yet', new KeeperRefusal(404, 'AF_EXEC_UNKNOWN', 'no command was started here', 'check the id')],
])('a command is cancelled again where %s', async (_, lost) => {
  const ended = Promise.withResolvers<ExecResult>();
  const due: (() => void)[] = [];
  let cancels = 0;
  const keeper = {
    run: () => ended.promise,
    cancel: () => {
      cancels += 1;
      if (cancels < 3) return Promise.reject(lost);
      ended.resolve({ stdout: '', stderr: '', end: { killed: 'Cancelled', cpuMs: 1 } } as ExecResult);
      return Promise.resolve();
    },
  };
  let passed = 0;
  const after = (ms: number, run: () => void) => {
    due.push(() => {
      passed += ms;
      run();
    });
    return { cancel: () => void due.splice(0) };
  };
  const task = { spec: { policy: { network: { mode: 'None' } } } };
  const abort = new AbortController();
  const context = { keeper, clock: { monotonic: () => passed, now: () => 0, after }, task, signal: abort.signal };
  const session = new SandboxSession(context as never, { add: () => undefined } as never, {
    roots: [{ name: 'workspace', path: '/workspace' }],
  });
  const running = session.exec({ command: 'sleep 600', timeoutSeconds: 600 });
  abort.abort(new Error('the attempt ends'));
  due.shift()?.();
  due.shift()?.();
  expect(cancels).toBe(3);
  await expect(running).rejects.toThrow('the attempt ends');
  expect(due).toEqual([]);
});
