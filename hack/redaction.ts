import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Redaction } from '@agentfleet/protocol/redact';

const root = join(import.meta.dirname, '..');
const { stdout } = await promisify(execFile)('git', ['ls-files', '-z'], { cwd: root, maxBuffer: 64 * 1024 * 1024 });

/** Redacts every tracked text file in memory: each finding is a false alarm or an example. */
let [bytes, millis] = [0, 0];
const totals = new Map<string, number>();
for (const name of stdout.split('\0').filter((each) => each !== '')) {
  const content = await readFile(join(root, name)).catch(() => null);
  if (content === null || content.includes(0)) continue;
  const redacting = new Redaction(() => undefined).open();
  const began = performance.now();
  redacting.bytes(content);
  millis += performance.now() - began;
  bytes += content.length;
  for (const [kind, count] of Object.entries(redacting.counts ?? {})) {
    totals.set(kind, (totals.get(kind) ?? 0) + count);
    console.log(`${kind} ${count} ${name}`);
  }
}
const found = [...totals].map(([kind, count]) => `${kind} ${count}`).join(', ') || 'nothing';
console.log(`${(bytes / 1e6).toFixed(1)} MB in ${Math.round(millis)} ms: ${found}`);
