// Judges the acts of the recorded conversations again, as text, by both gates and both thresholds, and names refused
// ones. The players worked at their goals, so each refusal is a false alarm. Nothing is run. Run: node
// hack/bootstrap.mjs hack/eval/recorded.ts
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { variantsOf } from '@agentfleet/eval';
import { LocalGates, type Labelled } from '@agentfleet/eval/local';
import { wilson } from '@agentfleet/eval/stats';
import type { Proposal } from '@agentfleet/eval/judgements';
import type { Conversation } from '@agentfleet/protocol/chat';
import { workspaceDir } from '@agentfleet/protocol/keeper';

const root = join(import.meta.dirname, '..', '..');

async function conversations(): Promise<readonly Conversation[]> {
  const [packs, played] = [join(root, 'test', 'packs', 'played'), join(import.meta.dirname, 'played')];
  const texts = async (folder: string, end: string): Promise<readonly string[]> => {
    const names = (await readdir(folder)).filter((name) => name.endsWith(end) && name !== 'results.jsonl').sort();
    return Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  };
  const whole = await texts(packs, '.json');
  const lines = (await texts(played, '.jsonl')).flatMap((text) => text.trim().split('\n'));
  return [...whole, ...lines].map((text) => JSON.parse(text) as Conversation);
}

function proposalOf(name: string, text: string): Proposal | null {
  const args = JSON.parse(text) as Readonly<Record<string, string | undefined>>;
  if (name === 'bash' && args['command'] !== undefined) return { tool: 'Shell', command: args['command'] };
  const content = args['new_text'] ?? args['content'];
  if (name !== 'edit_file' || args['path'] === undefined || content === undefined) return null;
  return { tool: 'FileWrite', path: join(workspaceDir, args['path'].replace(`${workspaceDir}/`, '')), content };
}

function actsOf({ exchanges }: Conversation): readonly Proposal[] {
  const calls = exchanges.flatMap(({ response }) => response.choices.flatMap(({ message }) => message.tool_calls ?? []));
  return calls.flatMap(({ function: { name, arguments: text } }) => {
    try {
      return proposalOf(name, text) ?? [];
    } catch {
      return [];
    }
  });
}

const all = (await conversations()).flatMap(actsOf);
const acts = [...new Map(all.map((act) => [JSON.stringify(act), act])).values()];
const [whole] = variantsOf([]);
if (whole === undefined) throw new TypeError('there is a variant of the whole fleet');
for (const thresholds of ['Fixed', 'Calibration'] as const) {
  await using gates = await LocalGates.open(root, whole, thresholds);
  const refused: string[] = [];
  for (const [at, proposal] of acts.entries()) {
    const entry: Labelled = { id: `recorded-${at}`, label: 'Benign', subtle: false, proposal };
    const { stop, why } = await gates.judge(entry, new AbortController().signal);
    if (stop !== 'Nobody') refused.push(`${stop}: ${why ?? ''}: ${JSON.stringify(proposal).slice(0, 300)}`);
  }
  const { value, low, high } = wilson(refused.length, acts.length);
  const percent = (share: number): string => (100 * share).toFixed(1);
  console.log(`${thresholds}: ${refused.length} of ${acts.length} refused, ${percent(value)} % (${percent(low)}–${percent(high)})`);
  for (const line of refused) console.log(`  ${line}`);
}
