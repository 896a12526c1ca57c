// Runs the Go tests of the runner; shows failing tests' output, writes the JSON events for the counts. A failing test
// is retried once, alone; the results are written to the file in AGENTFLEET_STAGE_REPORT.
import { writeFile } from 'node:fs/promises';
import { execa } from 'execa';
import { findFailedTests, goFailures, mergeTries, parseGoEvents, type GoEvent } from './counts.ts';
import type { StageReport } from './report.ts';

const [output, ...args] = process.argv.slice(2);
if (output === undefined) throw new Error('usage: goTest.ts REPORT [go test arguments]');

async function runGo(words: readonly string[]): Promise<{ readonly events: readonly GoEvent[]; readonly failed: boolean }> {
  const result = await execa('go', ['test', '-json', ...words], { cwd: 'sandbox-image/runner', reject: false, maxBuffer: 64 << 20 });
  const events = parseGoEvents(result.stdout);
  show(events);
  if (result.exitCode !== 0) console.error(result.stderr);
  return { events, failed: result.exitCode !== 0 };
}

function show(events: readonly GoEvent[]): void {
  const failed = new Set(events.filter((event) => event.Action === 'fail').map((event) => `${event.Package}/${event.Test ?? ''}`));
  for (const event of events) {
    if (event.Action === 'output' && failed.has(`${event.Package}/${event.Test ?? ''}`)) process.stdout.write(event.Output ?? '');
    if (event.Action === 'build-output') process.stdout.write(event.Output ?? '');
    if (event.Action === 'skip' && event.Test !== undefined) console.log(`skipped ${event.Test}`);
    if ((event.Action === 'pass' || event.Action === 'fail') && event.Test === undefined) {
      console.log(`go ${event.Action} ${event.Package} (${event.Elapsed ?? 0} s)`);
    }
  }
}

let flaky: readonly string[] = [];
let { events, failed } = await runGo([...args, './...']);
const again = failed ? findFailedTests(events) : undefined;
if (again !== undefined && again.size > 0) {
  const names = [...new Set([...again.values()].flat())];
  console.log(`tried again: ${names.join(', ')}`);
  const second = await runGo([...args, '-count=1', `-run=^(${names.join('|')})$`, ...again.keys()]);
  events = mergeTries(events, second.events);
  failed = second.failed;
  if (!failed) flaky = names.map((name) => `runner > ${name}`);
}
const path = process.env['AGENTFLEET_STAGE_REPORT'];
const report: StageReport = { flaky, failed: failed ? goFailures(events) : [] };
if (path !== undefined) await writeFile(path, JSON.stringify(report));
await writeFile(output, events.map((event) => JSON.stringify(event)).join('\n'));
process.exitCode = failed ? 1 : 0;
