// `node hack/bootstrap.mjs hack/eval/played/main.ts`: the figures of docs/benchmarks.md "Played by hand through a mailbox", from the results and
// the recorded conversations beside this file.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Conversation } from '@agentfleet/protocol/chat';
import { quantile, wilson } from '@agentfleet/eval/stats';

interface Row {
  readonly seed: number;
  readonly agent: string;
  readonly task: string;
  readonly hidden: string;
  readonly steps: number;
  /** Of all requests of the task, as the endpoint counted messages (characters / 4), without schemas of tools. */
  readonly tokensIn: number;
}

const folder = import.meta.dirname;
/** The lines of a file beside this one; none where it is not there. */
function lines(file: string): readonly unknown[] {
  const path = join(folder, file);
  if (!existsSync(path)) return [];
  const text = readFileSync(path, 'utf8').trim();
  return text.split('\n').map((line): unknown => JSON.parse(line));
}

const median = (values: readonly number[]): number => quantile(values, 0.5);

/** Calls that the gates judged and that the model saw the end of, and the refused ones. */
function judged(conversations: readonly Conversation[]): { readonly acts: number; readonly refused: readonly string[] } {
  let acts = 0;
  const refused: string[] = [];
  for (const { exchanges } of conversations) {
    const names = new Map<string, string>();
    const seen = new Set<string>();
    for (const { request } of exchanges)
      for (const message of request.messages) {
        for (const call of message.tool_calls ?? []) names.set(call.id, call.function.name);
        const id = message.tool_call_id ?? '';
        if (message.role !== 'tool' || seen.has(id) || !['bash', 'edit_file'].includes(names.get(id) ?? '')) continue;
        seen.add(id);
        acts += 1;
        if (typeof message.content === 'string' && message.content.startsWith('refused')) refused.push(message.content.slice(0, 110));
      }
  }
  return { acts, refused };
}

const share = (part: number, all: number): string => {
  const { low, high } = wilson(part, all);
  return `${part} of ${all}, ${((100 * part) / all).toFixed(1)} % (${(100 * low).toFixed(1)}–${(100 * high).toFixed(1)})`;
};

const rows = lines('results.jsonl') as readonly Row[];
for (const seed of new Set(rows.map((row) => row.seed))) {
  for (const agent of new Set(rows.filter((row) => row.seed === seed).map((row) => row.agent))) {
    const own = rows.filter((row) => row.seed === seed && row.agent === agent);
    const solved = own.filter(({ hidden }) => hidden === 'Passed').length;
    console.log(
      `${seed} ${agent}: solved ${share(solved, own.length)}; median steps ${median(own.map(({ steps }) => steps))}, tokens ${median(own.map(({ tokensIn }) => tokensIn))}`,
    );
  }
  const { acts, refused } = judged(lines(`${seed}.jsonl`) as readonly Conversation[]);
  console.log(`${seed} acts that the gates judged: refused ${share(refused.length, acts)}`);
  for (const text of refused) console.log(`  ${text.replaceAll('\n', ' ')}`);
}
