import type { Mutant } from './mutants.ts';

const gateway = 'inference-image/src/gateway';
const vitest = (name: string): Mutant['test'] => ({ kind: 'vitest', path: `${gateway}/${name}.test.ts` });

/** Bugs in the model gateway: keys, secrets, recordings. */
export const gateways: readonly Mutant[] = [
  {
    guarantee: 'a key follows no redirect',
    file: `${gateway}/transport.ts`,
    find: "redirect: 'manual'",
    replace: "redirect: 'follow'",
    test: vitest('faults'),
  },
  {
    guarantee: 'a key that a provider quotes is not told',
    file: `${gateway}/providers/failure.ts`,
    find: "key === null ? text : text.replaceAll(key, '[key]')",
    replace: "key === null ? text : text.replace(`${key} `, '[key]')",
    test: vitest('faults'),
  },
  {
    guarantee: 'a request goes to a model without secrets',
    file: `${gateway}/gateway.ts`,
    find: "if (typeof content === 'string') return redacting.text(content);",
    replace: "if (typeof content === 'string') return content;",
    test: vitest('gateway'),
  },
  {
    guarantee: 'signed reasoning goes back to its model only',
    file: `${gateway}/providers/anthropicRequest.ts`,
    find: 'isAnthropicState(state) && state.model === model',
    replace: "isAnthropicState(state) && model !== ''",
    test: vitest('anthropic'),
  },
  {
    guarantee: 'a recording is not played to another observation',
    file: 'protocol/src/chat/recording.ts',
    find: 'b[at]?.role !== role || b[at].text !== text',
    replace: 'b[at]?.role !== role',
    test: { kind: 'vitest', path: 'protocol/src/chat' },
  },
];
