import { expect, it } from 'vitest';
import { whyLeftOut } from './act.ts';
import type { CallObserved } from './notes.ts';

it.each<readonly [what: string, args: string, before: Partial<CallObserved>, why: string | null]>([
  ['after a call that failed', '{"answer":"x"}', { tool: 'bash', ok: false }, 'FailedBefore'],
  ['after a look at what is not there', '{"answer":"x"}', { tool: 'read_file', ok: false }, null],
  ['after a command that only looks', '{"answer":"x"}', { tool: 'bash', ok: false, look: true }, null],
  ['after a look that was refused', '{"answer":"x"}', { tool: 'read_file', ok: false, refused: 'secrets' }, 'FailedBefore'],
  ['with what cannot be reached', '{"answer":"x","unreachable":"true"}', { tool: 'bash', ok: false }, null],
  ['with what can be reached', '{"answer":"x","unreachable":"false"}', { tool: 'bash', ok: false }, 'FailedBefore'],
])('work is handed in %s', (_, args, before, why) => {
  const call = { id: 'c', name: 'submit', arguments: args };
  expect(whyLeftOut(call, 1, [before as CallObserved], false)).toBe(why);
});
