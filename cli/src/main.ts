// The process of `fleet` and `kubectl fleet`.
import { systemClock } from '@agentfleet/kube/clock';
import { exitCodes } from './base/failure.ts';
import type { Screen } from './commands/index.ts';
import { run } from './run.ts';

const abort = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => abort.abort());

// Without a reader (`fleet logs -f task | head`) the program ends as one that SIGPIPE kills: how its command would have ended is unknown.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(exitCodes.unread);
});

/** Reads one line from the terminal; a hidden one is not echoed. */
async function ask(question: string, hidden: boolean): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  const { Writable } = await import('node:stream');
  const nothing = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: hidden ? nothing : process.stderr, terminal: true });
  if (hidden) process.stderr.write(question);
  try {
    return await lines.question(question, { signal: abort.signal });
  } finally {
    lines.close();
    if (hidden) process.stderr.write('\n');
  }
}

/** The terminal, drawn over. */
async function screen(): Promise<Screen> {
  const { createLogUpdate } = await import('log-update');
  const draw = createLogUpdate(process.stdout);
  return {
    get columns() {
      return process.stdout.columns;
    },
    get rows() {
      return process.stdout.rows;
    },
    draw: (lines) => draw(lines.join('\n')),
    done: () => draw.done(),
  };
}

void run(process.argv.slice(2), {
  env: process.env,
  clock: systemClock,
  random: Math.random,
  terminal: process.stdout.isTTY,
  signal: abort.signal,
  fetch,
  ...(process.stdin.isTTY ? { ask } : {}),
  ...(process.stdout.isTTY ? { screen } : {}),
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
}).then((status) => {
  process.exitCode = status;
});
