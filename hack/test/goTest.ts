// Runs the Go tests of the runner; shows failing tests' output, writes the JSON events for the counts.
import { writeFile } from 'node:fs/promises';
import { execa } from 'execa';

const [output, ...args] = process.argv.slice(2);
if (output === undefined) throw new Error('usage: goTest.ts REPORT [go test arguments]');
const result = await execa('go', ['test', '-json', ...args, './...'], { cwd: 'sandbox-image/runner', reject: false, maxBuffer: 64 << 20 });
await writeFile(output, result.stdout);

interface GoEvent {
  readonly Action: string;
  readonly Package?: string;
  readonly Test?: string;
  readonly Output?: string;
  readonly Elapsed?: number;
}
const events = result.stdout
  .split('\n')
  .filter((line) => line.startsWith('{'))
  .map((line) => JSON.parse(line) as GoEvent);
const failed = new Set(events.filter((event) => event.Action === 'fail').map((event) => `${event.Package}/${event.Test ?? ''}`));
for (const event of events) {
  if (event.Action === 'output' && failed.has(`${event.Package}/${event.Test ?? ''}`)) process.stdout.write(event.Output ?? '');
  if (event.Action === 'build-output') process.stdout.write(event.Output ?? '');
  if (event.Action === 'skip' && event.Test !== undefined) console.log(`skipped ${event.Test}`);
  if ((event.Action === 'pass' || event.Action === 'fail') && event.Test === undefined) {
    console.log(`go ${event.Action} ${event.Package} (${event.Elapsed ?? 0} s)`);
  }
}
if (result.exitCode !== 0) console.error(result.stderr);
process.exitCode = result.exitCode ?? 1;
