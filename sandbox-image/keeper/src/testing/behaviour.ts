import type { FakeRunner } from './fake-runner.ts';

interface Received {
  readonly header: Readonly<Record<string, unknown>>;
}

/** A runner that echoes the last argument and ends well. */
export function echo(runner: FakeRunner, id: string, argv: unknown): void {
  runner.send({ t: 'start', id, pid: 42 });
  runner.out(id, 'stdout', `${(argv as string[]).at(-1)}\n`);
  runner.end(id);
}

/** A runner that echoes every command. */
export const echoing = {
  onFrame: (frame: Received, runner: FakeRunner): void => {
    if (frame.header['t'] === 'exec') echo(runner, String(frame.header['id']), frame.header['argv']);
  },
};

/** Answers a kill like the runner does. */
export const killable = {
  onFrame: ({ header }: Received, runner: FakeRunner): void => {
    const id = String(header['id']);
    if (header['t'] === 'exec') runner.send({ t: 'start', id, pid: 42 });
    if (header['t'] === 'kill') runner.end(id, { exitCode: null, signal: 'SIGTERM', killed: header['reason'] });
  },
};
