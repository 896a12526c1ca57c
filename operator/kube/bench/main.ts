// Lists 10,000 pods and follows 50,000 events with this package and with client-node's informer, in turn, in one run.
// Usage: node operator/kube/bench/main.ts [objects] [events] [rounds]
import { execFile, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const [, , objects = '10000', events = '50000', rounds = '3'] = process.argv;
const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const run = promisify(execFile);

interface Figures {
  readonly client: string;
  readonly loadMs: number;
  readonly listMs: number;
  readonly eventsPerSecond: number;
  readonly cpuMicros: number;
  readonly rss: number;
  readonly heap: number;
}

const median = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? NaN;

const server = fork(path('server.ts'), [objects, events]);
const { port } = await new Promise<{ port: number }>((resolve) =>
  server.once('message', (message) => resolve(message as { port: number })),
);
const clients = ['kube-list', 'kube-stream', 'client-node'];
const results: Figures[] = [];
for (let round = 0; round < Number(rounds); round += 1) {
  for (const client of clients) {
    const { stdout } = await run(
      process.execPath,
      ['--expose-gc', path('client.ts'), client, `http://127.0.0.1:${port}`, objects, events],
      { timeout: 300_000 },
    );
    results.push(JSON.parse(stdout) as Figures);
  }
}
server.kill();
console.log(`${objects} pods of 5 kB, ${events} events, median of ${rounds} rounds\n`);
console.log('| Client | Load ms | List ms | Events/s | CPU µs/event | RSS MB | Heap MB |\n|---|---|---|---|---|---|---|');
for (const client of clients) {
  const own = results.filter((result) => result.client === client);
  const of = (field: keyof Omit<Figures, 'client'>, by = 1): string => (median(own.map((result) => result[field])) / by).toFixed(0);
  const cells = [of('loadMs'), of('listMs'), of('eventsPerSecond'), of('cpuMicros'), of('rss', 1e6), of('heap', 1e6)];
  console.log(`| ${client} | ${cells.join(' | ')} |`);
}
