import type { Timeline } from '../follow.ts';
import type { Stage, Evidence } from '../stage.ts';
import { provePatch, succeeds } from './succeeds.ts';

/** A chat model writes a module, corrects what the tests report, and answers in words; each token of it is paid for. */
export async function conversed(stage: Stage, timeline: Timeline): Promise<Evidence> {
  const { proofs } = stage;
  const evidence = await succeeds(stage, timeline);
  const { calls, charged } = evidence.trace;
  const failed = calls.findIndex(({ text }) => text.startsWith('unit: does not hold'));
  const corrected = failed !== -1 && calls.slice(failed).some(({ text }) => text.startsWith('unit: holds'));
  proofs.prove('its tests failed on what it wrote first, and it corrected that', corrected, calls.map(({ tool }) => tool).join(', '));
  const touched = provePatch(stage, timeline.end);
  proofs.prove('it wrote one module and its answer, and nothing else', touched.join() === 'answer.md,durations.py', touched.join(', '));
  const { answer = '', artifacts = [] } = timeline.end.status?.run ?? {};
  const kept = artifacts.some(({ name }) => name === 'answer.md');
  proofs.prove('it said in words what was asked, in the status and as an artifact', answer.includes('ValueError') && kept, answer);
  const { tokensIn = 0, tokensOut = 0 } = timeline.end.status?.totals?.usage ?? {};
  const paid = tokensOut > 0 && tokensIn === charged.tokensIn && tokensOut === charged.tokensOut;
  proofs.prove('the status counts the tokens of each reply in the event log once', paid, `${tokensIn} in, ${tokensOut} out`);
  return evidence;
}
