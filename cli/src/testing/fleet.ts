import { systemClock, type Clock } from '@agentfleet/kube';
import type { Screen } from '../commands/index.ts';
import { run } from '../run.ts';
import type { ApiServer } from './apiServer.ts';

const now = Date.UTC(2030, 0, 1, 2);
/** Waits are over at once, and count for the monotonic clock. */
function fastClock(): Clock {
  let passed = 0;
  return { ...systemClock, now: () => now, monotonic: () => passed, after: (ms, then) => ((passed += ms), systemClock.after(0, then)) };
}

/** Output of the program and its exit status. */
export interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Settings of a run that differ from the usual. */
export interface Unusual {
  readonly env?: NodeJS.ProcessEnv;
  readonly terminal?: boolean;
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
  readonly fetch?: typeof globalThis.fetch;
  readonly screen?: () => Promise<Screen>;
  readonly out?: (text: string) => void;
}

/** Runs the program as `fleet ARGS` against a server, two hours into 2030. */
export async function fleet(api: ApiServer, args: readonly string[], unusual: Unusual = {}): Promise<Said> {
  const said = { out: '', err: '' };
  const code = await run(args, {
    env: { KUBECONFIG: api.kubeconfig },
    clock: fastClock(),
    random: () => 0.5,
    terminal: false,
    signal: new AbortController().signal,
    out: (text) => void (said.out += text),
    err: (text) => void (said.err += text),
    ...unusual,
  });
  return { code, ...said };
}
