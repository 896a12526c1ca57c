import type { Timeline } from '../follow.ts';
import type { Stage, Evidence } from '../stage.ts';
import { provePatch, succeeds } from './succeeds.ts';

/** One wrong token in a Python program. */
export async function oneToken(stage: Stage, timeline: Timeline): Promise<Evidence> {
  const evidence = await succeeds(stage, timeline);
  provePatch(stage, timeline.end);
  return evidence;
}

/** A TypeScript program whose set-up needs the network, and nothing else does. */
export async function withPackages(stage: Stage, timeline: Timeline): Promise<Evidence> {
  const evidence = await succeeds(stage, timeline);
  const touched = provePatch(stage, timeline.end);
  stage.proofs.prove('it is a TypeScript file', touched.length > 0 && touched.every((path) => path.endsWith('.ts')));
  const asked = evidence.trace.egress.map(({ host, decision }) => `${host} ${decision}`);
  const opened = evidence.trace.egress.some(({ decision }) => decision === 'Allowed');
  stage.proofs.prove('its packages came through the egress proxy, which noted each request', opened, asked.join(', '));
  return evidence;
}

/** Two bugs: the first repair that helps becomes a step with a snapshot, and the search goes on from there. */
export async function twoSteps(stage: Stage, timeline: Timeline): Promise<Evidence> {
  const evidence = await succeeds(stage, timeline);
  const touched = provePatch(stage, timeline.end);
  stage.proofs.prove('two files were repaired', touched.length === 2);
  const steps = (timeline.end.status?.run?.plan ?? []).filter(({ kind, state }) => kind === 'Step' && state === 'Done');
  const seen = steps.map(({ id, intent }) => `${id} ${intent}`).join('; ');
  stage.proofs.prove('the plan has more than one step that was done', steps.length > 1, seen);
  return evidence;
}
