// The process of `fleet` and `kubectl fleet`.
import { systemClock } from '@agentfleet/kube';
import { run } from './run.ts';

const abort = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => abort.abort());

// Who reads only the beginning (`fleet show task | head`) has what was wanted.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

process.exitCode = await run(process.argv.slice(2), {
  env: process.env,
  clock: systemClock,
  random: Math.random,
  terminal: process.stdout.isTTY,
  signal: abort.signal,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
});
