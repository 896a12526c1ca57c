// `npm run bench:operator`: our operator beside the agent-sandbox controller, on a control plane that it raises itself.
//   --only rate,burst,sustained,warm,kill,term   --objects N   --rate N a second   --repeats N (default 2)
//   --peer-flags "…" (again for another set; default: none, and four connections)   --no-peer: also without bare pods
//   --node-flags "…": how our operator is started (default: as in its image)
//   --json FILE: a line for each run   --write FILE: the tables   --profile DIR: a CPU profile of our operator   --keep: leave it up
import { execFileSync } from 'node:child_process';
import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { asError } from '@agentfleet/kube';
import { bareSubject, peerSubject } from './peer.ts';
import { raise, type TestEnvironment } from './environment.ts';
import { imageFlags, ourSubject } from './ours.ts';
import { report } from './report.ts';
import type { Result } from './result.ts';
import { runOnce } from './run.ts';
import { choose, type Scenario } from './scenarios.ts';
import type { Subject } from './subject.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    objects: { type: 'string' },
    rate: { type: 'string' },
    repeats: { type: 'string', default: '2' },
    'peer-flags': { type: 'string', multiple: true, default: ['', '--api-connections=4 --separate-watch-connection'] },
    'no-peer': { type: 'boolean', default: false },
    json: { type: 'string' },
    write: { type: 'string' },
    'node-flags': { type: 'string', default: imageFlags },
    profile: { type: 'string' },
    keep: { type: 'boolean', default: false },
  },
});

function positive(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!(value > 0)) throw new Error(`--${name} "${text}" is no number above 0`);
  return value;
}

const words = (text: string): readonly string[] => text.split(' ').filter((word) => word !== '');

function subjectsOn({ peer }: TestEnvironment, { warm, kill }: Scenario): readonly Subject[] {
  const sets = values['no-peer'] ? [] : values['peer-flags'];
  const peers = sets.map((flags) => peerSubject({ ...peer, flags: words(flags) }));
  const nobody = values['no-peer'] || warm === true || kill !== undefined ? [] : [bareSubject()];
  return [ourSubject({ nodeFlags: words(values['node-flags']), profile }), ...peers, ...nobody];
}

function title(): string {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  const machine = `${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}), ${(totalmem() / 2 ** 30).toFixed(0)} GiB, Linux ${release()}, Node ${process.version}`;
  const command = ['npm run bench:operator', ...(process.argv.length > 2 ? ['--', ...process.argv.slice(2)] : [])].join(' ');
  return `\`${command}\`; commit ${commit}; ${machine}; load average ${loadavg()[0]?.toFixed(1) ?? ''}; ${new Date().toISOString().slice(0, 10)}\n`;
}

const scenarios = choose({ only: values.only, objects: positive('objects', values.objects), rate: positive('rate', values.rate) });
const repeats = positive('repeats', values.repeats) ?? 1;
const profile = values.profile === undefined ? undefined : resolve(values.profile);
const began = performance.now();
const log = (line: string): void => void process.stderr.write(`${((performance.now() - began) / 1000).toFixed(1).padStart(7)}s ${line}\n`);

const environment = await raise(log);
const results: Result[] = [];
try {
  if (profile !== undefined) await mkdir(profile, { recursive: true });
  for (const scenario of scenarios) {
    for (let run = 1; run <= repeats; run += 1) {
      for (const subject of subjectsOn(environment, scenario)) {
        log(`${scenario.name} ${run}: ${subject.name}`);
        const result = await runOnce({ environment, subject, scenario, run, log }).catch((error: unknown) => {
          log(`failed: ${asError(error).stack ?? ''}`);
          process.exitCode = 1;
        });
        if (result === undefined) continue;
        results.push(result);
        const line = JSON.stringify(result);
        process.stdout.write(`${line}\n`);
        if (values.json !== undefined) await appendFile(values.json, `${line}\n`);
      }
    }
  }
} finally {
  if (!values.keep) await environment.close();
  else await environment.transport.close();
}
const text = `${title()}\n${report(results)}`;
process.stdout.write(`\n${text}`);
if (values.write !== undefined) await writeFile(values.write, text);
