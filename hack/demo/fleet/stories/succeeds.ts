import type { AgentTask } from '@agentfleet/protocol/api';
import type { Timeline } from '../follow.ts';
import { readTrace } from '../readTrace.ts';
import { conditionOf, type Stage, type Evidence } from '../stage.ts';

/** Proves what every task that can be done has to show; its own proofs come after it. */
export async function succeeds(stage: Stage, timeline: Timeline): Promise<Evidence> {
  const { proofs } = stage;
  const { end } = timeline;
  const succeeded = conditionOf(end, 'Succeeded');
  proofs.prove('the task is Succeeded', succeeded?.status === 'True', succeeded?.message);
  proveChecks(stage, end);
  return { timeline, trace: await readTrace(stage, end) };
}

function proveChecks({ proofs }: Stage, { status }: AgentTask): void {
  const checks = status?.run?.outcome?.checks ?? [];
  const seen = checks.map(({ name, passed, failed, skipped }) => `${name}: ${passed} passed, ${failed} failed, ${skipped} skipped`);
  const holds = checks.length > 0 && checks.every(({ passed, failed }) => passed > 0 && failed === 0);
  proofs.prove('its checks passed in a fresh container, on a clean restore of the result', holds, seen.join('; '));
}

/** Shows the patch and proves that it touches the program and nothing that decides about success. Gives the files back. */
export function provePatch({ proofs }: Stage, { status }: AgentTask): readonly string[] {
  const patch = status?.run?.patch ?? '';
  for (const line of patch.trimEnd().split('\n')) proofs.fact(line);
  const touched = [...patch.matchAll(/^\+\+\+ (?:b\/)?(\S+)/gm)].map(([, path = '']) => path);
  const own = touched.length > 0 && touched.every((path) => !/(^|\/)tests?\//.test(path));
  proofs.prove('the change is in the program and not in its tests', own, touched.join(', '));
  return touched;
}
