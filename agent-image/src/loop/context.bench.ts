/** Prompt tokens of each step of a long conversation: `node agent-image/src/loop/context.bench.ts [contextTokens]`. */
import { longConversation, sumOf, type Keeping } from './testing/longConversation.ts';

const steps = 60;
const window = { contextTokens: Number(process.argv[2] ?? 64_000), maxOutputTokens: 4000 };
const kinds: readonly Keeping[] = ['Nothing', 'Cut', 'CutAndCompact'];
const runs = kinds.map((keeping) => longConversation(steps, window, keeping));

console.log(`prompt tokens a step, window of ${window.contextTokens} with ${window.maxOutputTokens} for the answer; estimated by length`);
console.log(['step', 'whole output', 'cut', 'cut and compacted'].join('\t'));
for (let step = 1; step <= steps; step += 1) {
  const at = runs.map((run) =>
    run.filter((cost) => cost.step === step).map(({ promptTokens, isCompaction }) => `${promptTokens}${isCompaction ? ' (summary)' : ''}`),
  );
  console.log([step, ...at.map((cells) => cells.join(' + '))].join('\t'));
}
const sums = (key: 'promptTokens' | 'newTokens'): readonly number[] => runs.map((run) => sumOf(run, key));
console.log(['sum', ...sums('promptTokens')].join('\t'));
console.log(['not in a cache', ...sums('newTokens')].join('\t'));
const overflows = runs.map((run) => run.find((cost) => cost.promptTokens + window.maxOutputTokens > window.contextTokens)?.step ?? 'never');
console.log(['window exceeded at step', ...overflows].join('\t'));
